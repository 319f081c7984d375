type Present<A> = {
  readonly [K in keyof A as undefined extends A[K] ? never : K]: A[K]
} & {
  readonly [K in keyof A as undefined extends A[K] ? K : never]?: Exclude<A[K], undefined>
}

/** Drops the fields that are `undefined`: a schema with optional keys does not encode `undefined`. */
export const omitUndefined = <A extends object>(fields: A): Present<A> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<A>
