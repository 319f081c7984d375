/**
 * Sources on the disk: streamed there, and under their name only once they are whole and safe.
 */
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { type SourceStore, SourceStoreError } from "@tollgate/core"
import { Effect, Stream } from "effect"

const partPath = (path: string): string => `${path}.part`

/** What is younger may still be on its way. */
const maxPartAge = 60 * 60 * 1000

const toSourceStoreError = (problem: string) => (cause: unknown) => new SourceStoreError({ problem, cause })

const io = <A>(problem: string, work: () => Promise<A>): Effect.Effect<A, SourceStoreError> =>
  Effect.tryPromise({ try: work, catch: toSourceStoreError(problem) })

/** Gives the memory of a piece back now, and not when the collector gets to it: an upload would wait there by the dozen. */
const detachBuffer = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** A file's entry in its folder is not safe before the folder is. */
const flushFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export const diskSourceStore = (folder: string): SourceStore => {
  const pathOf = (key: string): string => join(folder, key)

  const draft = (path: string) =>
    Effect.acquireRelease(
      io("the folder for sources cannot be written to", async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        return open(partPath(path), "wx", 0o600)
      }),
      (handle) =>
        Effect.promise(async () => {
          await handle.close()
          // Gone already, if it has become a source.
          await rm(partPath(path), { force: true })
        })
    )

  return {
    put: (key, content) =>
      Effect.scoped(
        Effect.gen(function* () {
          const path = pathOf(key)
          const handle = yield* draft(path)
          yield* Stream.runForEach(content, (chunk) =>
            io("it cannot be written", async () => {
              await handle.writeFile(chunk)
              detachBuffer(chunk)
            })
          )
          yield* io("it cannot be made safe", async () => {
            await handle.sync()
            await rename(partPath(path), path)
            await flushFolder(folder)
          })
        })
      ),

    open: (key) =>
      Stream.unwrap(
        Effect.map(
          Effect.acquireRelease(
            io("it is not here", () => open(pathOf(key), "r")),
            (handle) => Effect.promise(() => handle.close())
          ),
          (handle) =>
            Stream.fromAsyncIterable<Uint8Array, SourceStoreError>(
              handle.createReadStream({ autoClose: false }),
              toSourceStoreError("it cannot be read")
            )
        )
      ),

    remove: (key) => io("it cannot be removed", () => rm(pathOf(key), { force: true })),

    sweep: (isWanted) =>
      Effect.gen(function* () {
        const names = yield* io("the folder for sources cannot be read", async () => {
          await mkdir(folder, { recursive: true, mode: 0o700 })
          return readdir(folder)
        })
        const now = Date.now()
        for (const name of names) {
          const path = join(folder, name)
          const isOld = yield* io("it cannot be read", () =>
            stat(path).then(
              ({ mtimeMs }) => now - mtimeMs > maxPartAge,
              () => false
            )
          )
          if (isOld && !(yield* isWanted(name))) yield* io("it cannot be removed", () => rm(path, { force: true }))
        }
      })
  }
}
