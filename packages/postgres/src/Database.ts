/**
 * Runs queries on a pool of connections. A query that takes too long fails, and its connection is closed. Statements are
 * not named, so that a pooler such as PgBouncer can give each query another connection.
 */
import type { Pool, PoolClient } from "pg"
import { isUsableAfter, NoConnection, QueryTimeout } from "./classifyError.ts"

/** The columns of a row as PostgreSQL sends them. */
export type Row = ReadonlyArray<string | null>

type Value = string | number | boolean | null

/** Returns values as text: your application may have set parsers for all pools. */
const textTypes = { getTypeParser: () => (value: string) => value }

export class Database {
  readonly #pool: Pool
  readonly #queryTimeout: number
  readonly #running = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(pool: Pool, queryTimeout: number) {
    this.#pool = pool
    this.#queryTimeout = queryTimeout
  }

  readonly isClosed = (): boolean => this.#isClosed

  query(text: string, values: ReadonlyArray<Value> = []): Promise<ReadonlyArray<Row>> {
    return this.use((client) => this.#run(client, text, values))
  }

  /** Gives `run` a connection of its own, for a transaction. */
  async use<A>(run: (client: PoolClient) => Promise<A>): Promise<A> {
    const used = this.#checkOutAndRun(run)
    this.#running.add(used)
    try {
      return await used
    } finally {
      this.#running.delete(used)
    }
  }

  /** Rejects new queries and waits for the running ones, which take at most the query timeout. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#running)
  }

  async #checkOutAndRun<A>(run: (client: PoolClient) => Promise<A>): Promise<A> {
    let connectionError: Error | undefined
    const onError = (error: Error) => {
      connectionError = error
    }
    const client = await this.#checkOut(onError)
    let isUsable = false
    try {
      const result = await run(client)
      isUsable = true
      return result
    } catch (error) {
      isUsable = isUsableAfter(error)
      throw error
    } finally {
      client.release(connectionError ?? !isUsable)
      client.off("error", onError)
    }
  }

  /**
   * The pool listens to idle connections only, and an error event without a listener would end the process. So `onError`
   * listens from the pool's callback on: a promise would resolve after the server's next message, which may be an error.
   */
  #checkOut(onError: (error: Error) => void): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        reject(new NoConnection("no connection of the pool to PostgreSQL became free in time"))
      }, this.#queryTimeout)
      this.#pool.connect((cause, client) => {
        clearTimeout(timer)
        if (client === undefined) return reject(new NoConnection("PostgreSQL is not reachable", { cause }))
        if (isLate) return client.release()
        client.on("error", onError)
        resolve(client)
      })
    })
  }

  #run(client: PoolClient, text: string, values: ReadonlyArray<Value>): Promise<ReadonlyArray<Row>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new QueryTimeout(`PostgreSQL did not respond within ${this.#queryTimeout} ms`)),
        this.#queryTimeout
      )
      client.query({ text, values: [...values], rowMode: "array", types: textTypes }).then(
        ({ rows }) => {
          clearTimeout(timer)
          resolve(rows)
        },
        (error) => {
          clearTimeout(timer)
          reject(error)
        }
      )
    })
  }
}
