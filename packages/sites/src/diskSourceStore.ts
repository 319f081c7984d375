/**
 * A source store on the disk. Streams each source to a `.part` file, flushes it, and renames it when it is complete.
 */
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { type SourceStore, SourceStoreError } from "@tollgate/deployments"
import { Options } from "@tollgate/store/internal"
import { Effect, Stream } from "effect"
import { folderPath } from "./options.ts"

const partPath = (path: string): string => `${path}.part`

/** Newer files may belong to an upload in progress. */
const minSweepAge = 60 * 60 * 1000

const toSourceStoreError = (problem: string) => (cause: unknown) => new SourceStoreError({ problem, cause })

const io = <A>(problem: string, work: () => Promise<A>): Effect.Effect<A, SourceStoreError> =>
  Effect.tryPromise({ try: work, catch: toSourceStoreError(problem) })

/** Frees the memory of a chunk immediately, so that chunks do not pile up until the garbage collector runs. */
const detachBuffer = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** A rename survives a power loss only after the folder itself is flushed. */
const flushFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A source store in a folder, which it creates. `sites` uses one; use it with a deployment target of your own. */
export const diskSourceStore = (path: string): SourceStore => {
  const folder = Options.decodeSync(folderPath, path, "folder")
  const getPath = (key: string): string => join(folder, key)

  const openPart = (path: string) =>
    Effect.acquireRelease(
      io("cannot write to the sources folder", async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        return open(partPath(path), "wx", 0o600)
      }),
      (handle) =>
        Effect.promise(async () => {
          await handle.close()
          // Already renamed if the upload succeeded.
          await rm(partPath(path), { force: true })
        })
    )

  return {
    put: (key, content) =>
      Effect.scoped(
        Effect.gen(function* () {
          const path = getPath(key)
          const handle = yield* openPart(path)
          yield* Stream.runForEach(content, (chunk) =>
            io("cannot write the source", async () => {
              await handle.writeFile(chunk)
              detachBuffer(chunk)
            })
          )
          yield* io("cannot flush the source to disk", async () => {
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
            io("cannot open the source", () => open(getPath(key), "r")),
            (handle) => Effect.promise(() => handle.close())
          ),
          (handle) =>
            Stream.fromAsyncIterable<Uint8Array, SourceStoreError>(
              handle.createReadStream({ autoClose: false }),
              toSourceStoreError("cannot read the source")
            )
        )
      ),

    remove: (key) => io("cannot remove the source", () => rm(getPath(key), { force: true })),

    sweep: (isInUse) =>
      Effect.gen(function* () {
        const names = yield* io("cannot read the sources folder", async () => {
          await mkdir(folder, { recursive: true, mode: 0o700 })
          return readdir(folder)
        })
        const now = Date.now()
        for (const name of names) {
          const path = join(folder, name)
          const isOld = yield* io("cannot read the source", () =>
            stat(path).then(
              ({ mtimeMs }) => now - mtimeMs > minSweepAge,
              () => false
            )
          )
          if (isOld && !(yield* isInUse(name))) yield* io("cannot remove the source", () => rm(path, { force: true }))
        }
      })
  }
}
