/**
 * Runs queries on a pool of connections. A query that takes too long fails, and its connection is closed. Statements are
 * not named, so that a pooler such as PgBouncer can give each query another connection.
 */
import type { Pool, PoolClient } from "pg"
import { Connections } from "./Connections.ts"
import { isUsableAfter, NoConnection, QueryTimeout } from "./classifyError.ts"

/** The columns of a row as PostgreSQL sends them. */
export type Row = ReadonlyArray<string | null>

type Value = string | number | boolean | null

/** Returns values as text: your application may have set parsers for all pools. */
const textTypes = { getTypeParser: () => (value: string) => value }

const failAfter = <A>(milliseconds: number, run: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new QueryTimeout(`PostgreSQL did not respond within ${milliseconds} ms`)),
      milliseconds
    )
    run.then(resolve, reject).finally(() => clearTimeout(timer))
  })

export class Database {
  readonly #connections: Connections
  readonly #running = new Set<Promise<unknown>>()
  #isClosed = false
  readonly queryTimeout: number
  /** Milliseconds for which a query waits for a lock: less than the timeout, so that none goes on without its caller. */
  readonly maxLockWait: number

  constructor(pool: Pool, queryTimeout: number) {
    this.#connections = new Connections(pool, queryTimeout)
    this.queryTimeout = queryTimeout
    this.maxLockWait = Math.max(1, Math.min(3_000, Math.floor(queryTimeout * 0.6)))
  }

  readonly isClosed = (): boolean => this.#isClosed

  query(text: string, values: ReadonlyArray<Value> = []): Promise<ReadonlyArray<Row>> {
    return this.use(
      async (client) =>
        (await client.query<Array<string | null>>({ text, values: [...values], rowMode: "array", types: textTypes }))
          .rows
    )
  }

  /** Gives `run` a connection of its own, for a transaction. */
  async use<A>(run: (client: PoolClient) => Promise<A>, timeoutMs = this.queryTimeout): Promise<A> {
    if (this.#isClosed) throw new NoConnection("the store is closed")
    const used = this.#takeAndRun(run, timeoutMs)
    this.#running.add(used)
    try {
      return await used
    } finally {
      this.#running.delete(used)
    }
  }

  /** Rejects new queries and waits for the running ones, which take at most their timeout. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#running)
  }

  async #takeAndRun<A>(run: (client: PoolClient) => Promise<A>, timeoutMs: number): Promise<A> {
    let connectionError: Error | undefined
    const onError = (error: Error) => {
      connectionError = error
    }
    const client = await this.#connections.take(onError)
    let isUsable = false
    try {
      const result = await failAfter(timeoutMs, run(client))
      isUsable = true
      return result
    } catch (error) {
      isUsable = isUsableAfter(error)
      throw error
    } finally {
      this.#connections.release(client, onError, connectionError ?? !isUsable)
    }
  }
}
