/**
 * Takes connections from a pool, never more at once than the pool has. So a caller that stops waiting leaves nothing behind
 * in the queue of the pool, which is your application's too.
 */
import type { Pool, PoolClient } from "pg"
import { NoConnection } from "./classifyError.ts"

/** The default of pg. */
const defaultPoolSize = 10

type OnError = (error: Error) => void

export class Connections {
  readonly #pool: Pool
  readonly #timeoutMs: number
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor(pool: Pool, timeoutMs: number) {
    this.#pool = pool
    this.#timeoutMs = timeoutMs
  }

  /** `onError` listens to the connection until it is released. */
  take(onError: OnError): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isLate = false
      const connect = () => {
        this.#waiting.delete(connect)
        this.#taken++
        this.#connect(
          (client) => {
            clearTimeout(timer)
            if (isLate) return this.release(client, onError)
            resolve(client)
          },
          (error) => {
            clearTimeout(timer)
            reject(error)
          },
          onError
        )
      }
      const timer = setTimeout(() => {
        isLate = true
        this.#waiting.delete(connect)
        reject(new NoConnection("no connection of the pool to PostgreSQL became free in time"))
      }, this.#timeoutMs)
      if (this.#taken < (this.#pool.options.max ?? defaultPoolSize)) connect()
      else this.#waiting.add(connect)
    })
  }

  /** With `error`, the pool closes the connection. */
  release(client: PoolClient, onError: OnError, error?: Error | boolean): void {
    client.release(error)
    client.off("error", onError)
    this.#startNext()
  }

  /**
   * The pool listens to idle connections only, and an error event without a listener would end the process. So `onError`
   * listens from the pool's callback on: a promise would resolve after the server's next message, which may be an error.
   */
  #connect(onConnect: (client: PoolClient) => void, onFailure: OnError, onError: OnError): void {
    this.#pool.connect((cause, client) => {
      if (client === undefined) {
        this.#startNext()
        onFailure(new NoConnection("PostgreSQL is not reachable", { cause }))
        return
      }
      client.on("error", onError)
      onConnect(client)
    })
  }

  #startNext(): void {
    this.#taken--
    const [connect] = this.#waiting
    connect?.()
  }
}
