/** The parameters in the path of a request. */
export type Params = Readonly<Record<string, string>>

/** The decoded request of any operation. */
export interface AnyRequest {
  readonly params?: Params
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
}
