type Present<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

/** The fields that have a value: under exact types, an option that is absent is not the same as one that is undefined. */
export const optional = <A extends object>(fields: A): Present<A> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<A>
