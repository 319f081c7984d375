import { createTollgate } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { Effect } from "effect"
import { secret } from "../../core/test/stores.ts"

export interface HeldInput {
  readonly store: "sqlite" | "redis"
  readonly at: string
  readonly folder: string
  /** The step that never ends, or none. */
  readonly holdAt?: "unpack" | "build" | "check" | "publish" | "commit"
  /** A shell command for each build. */
  readonly command?: string
}

/** A process that runs what is to be run, says when it has reached a step, and stays in it. */
process.once("message", async ({ store, at, folder, holdAt, command }: HeldInput) => {
  const opened = store === "sqlite" ? await SqliteStore.open(at) : await RedisStore.open(at)
  const deployments = sites({ folder, ...(command === undefined ? {} : { build: { command } }) })
  const { target } = deployments
  const hold = Effect.andThen(
    Effect.sync(() => process.send?.("held")),
    Effect.never
  )
  const { unpack, build, check } = target
  await createTollgate({
    store: opened,
    secret,
    publicUrl: "http://127.0.0.1",
    deployments: {
      ...deployments,
      target: {
        ...target,
        unpack: (release) => (holdAt === "unpack" ? hold : (unpack?.(release) ?? Effect.never)),
        build: (release) => (holdAt === "build" ? hold : (build?.(release) ?? Effect.never)),
        check: (release) => (holdAt === "check" ? hold : (check?.(release) ?? Effect.never)),
        publish: (release) =>
          holdAt === "publish"
            ? hold
            : Effect.andThen(target.publish(release), holdAt === "commit" ? hold : Effect.void)
      }
    }
  })
  process.send?.("open")
})
process.send?.("ready")
