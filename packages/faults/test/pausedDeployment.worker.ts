import { createTollgate } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { Effect } from "effect"
import { secret } from "../../core/test/stores.ts"

export interface PausedDeploymentInput {
  readonly store: "sqlite" | "redis"
  /** A file path or a Redis URL. */
  readonly location: string
  readonly folder: string
  /** The step that never ends; without it, deployments run to their end. */
  readonly pauseAt?: "unpack" | "build" | "check" | "publish" | "commit"
  /** A shell command for each build. */
  readonly command?: string
}

/** Runs deployments, reports "paused" when one reaches the step `pauseAt`, and never leaves that step. */
process.once("message", async ({ store: kind, location, folder, pauseAt, command }: PausedDeploymentInput) => {
  const store = kind === "sqlite" ? await SqliteStore.open(location) : await RedisStore.open(location)
  const deployments = sites({ folder, ...(command === undefined ? {} : { build: { command } }) })
  const { target } = deployments
  const pause = Effect.andThen(
    Effect.sync(() => process.send?.("paused")),
    Effect.never
  )
  const { unpack, build, check } = target
  await createTollgate({
    store,
    secret,
    publicUrl: "http://127.0.0.1",
    deployments: {
      ...deployments,
      target: {
        ...target,
        unpack: (release) => (pauseAt === "unpack" ? pause : (unpack?.(release) ?? Effect.never)),
        build: (release) => (pauseAt === "build" ? pause : (build?.(release) ?? Effect.never)),
        check: (release) => (pauseAt === "check" ? pause : (check?.(release) ?? Effect.never)),
        publish: (release) =>
          pauseAt === "publish"
            ? pause
            : Effect.andThen(target.publish(release), pauseAt === "commit" ? pause : Effect.void)
      }
    }
  })
  process.send?.("open")
})
process.send?.("ready")
