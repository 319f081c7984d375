/**
 * Types of the promise API. The interfaces of the methods stand beside the declarations, so that editors show their
 * documentation; `api/checkMethods.ts` checks them against the declarations.
 */

import type { DateTime, Schema } from "effect"

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Options of calls that change something. */
export interface WriteCallOptions extends CallOptions {
  /**
   * Who makes the change, for example a user of your application: at most 256 characters. The event of the change has it
   * as `actor: { type: "host", id }`. Only in process: over HTTP the actor is the credential.
   */
  readonly actor?: string | undefined
}

/** Options of calls that create something or count usage. */
export interface IdempotentCallOptions extends WriteCallOptions {
  /** Makes retries safe: Tollgate applies calls with the same key and input once, and returns the first result again. */
  readonly idempotencyKey?: string | undefined
}

/** Options of calls that change or remove an item. */
export interface ConditionalCallOptions extends WriteCallOptions {
  /** Applies the change only if the item still has this version, or one of these versions. */
  readonly ifMatch?: number | ReadonlyArray<number> | undefined
}

export type TagCondition = {
  /** Rejects with `ConsumerNotFound` unless the consumer has all these tags. */
  readonly ifTags?: Readonly<Record<string, string>> | undefined
}

/** Selects a page of a list. */
export interface PageOptions extends CallOptions {
  /** Maximum number of items: 1 to 1,000, the default. */
  readonly limit?: number | undefined
  /** Number of items to skip. Default: 0. */
  readonly offset?: number | undefined
  /** The `next` of an earlier page: lists the items after it. `offset` counts from there. */
  readonly after?: string | undefined
}

/** A page of items, oldest first. */
export interface PageJson<Item> {
  readonly data: ReadonlyArray<Item>
  readonly limit: number
  readonly offset: number
  /** The number of items on all pages. */
  readonly total: number
  /** If there are more items: pass it as `after` to get the next page. */
  readonly next?: string
}

/**
 * The result of a list: await it to get one page, or iterate over it to get the items of all pages. Pages are read as you
 * iterate. You may create, change and remove items meanwhile: no other item is skipped or repeated.
 *
 * @example
 * ```ts
 * for await (const consumer of production.consumers.list()) console.log(consumer.name)
 * ```
 */
export interface PagePromise<Item> extends Promise<PageJson<Item>>, AsyncIterable<Item> {}

/** Items that a search has found. They are not counted. */
export type FoundJson<Item> = Omit<PageJson<Item>, "total"> & { readonly total?: number }

/** The result of a list that can also search: await it to get one page, or iterate over it to get all items. */
export interface FoundPromise<Item> extends Promise<FoundJson<Item>>, AsyncIterable<Item> {}

/** An item with its version, for `ifMatch`. */
export type Versioned<Item> = Item & { readonly version: number }

/** Input of a call, by its schema: a field that is `undefined` counts as absent, and a timestamp may be a `Date`. */
export type Input<S extends Schema.Top> = InputOf<S["Encoded"], S["Type"]>

/** The decoded type tells a timestamp from another string. */
type InputOf<Encoded, Type> = [Schema.Json] extends [Encoded]
  ? Encoded
  : Encoded extends ReadonlyArray<infer Item>
    ? ReadonlyArray<InputOf<Item, ItemOf<Type>>>
    : Encoded extends object
      ? {
          readonly [Key in keyof Encoded]: object extends Pick<Encoded, Key>
            ? InputOf<Encoded[Key], FieldOf<Type, Key>> | undefined
            : InputOf<Encoded[Key], FieldOf<Type, Key>>
        }
      : Encoded | ([Extract<Type, DateTime.Utc>] extends [never] ? never : Date)

type ItemOf<Type> = Type extends ReadonlyArray<infer Item> ? Item : never
type FieldOf<Type, Key> = Type extends unknown ? (Key extends keyof Type ? Type[Key] : never) : never
