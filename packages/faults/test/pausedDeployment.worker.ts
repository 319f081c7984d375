import { createTollgate } from "@tollgate/core"
import { deployments } from "@tollgate/deployments"
import { sites } from "@tollgate/sites"
import { Effect } from "effect"
import { secret } from "../../core/test/secrets.ts"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"

export interface PausedDeploymentInput {
  readonly shared: SharedStore
  readonly folder: string
  /** The step that never ends; without it, deployments run to their end. */
  readonly pauseAt?: "unpack" | "build" | "check" | "publish" | "commit"
  /** A shell command for each build. */
  readonly command?: string
}

/** Runs deployments, reports "paused" when one reaches the step `pauseAt`, and never leaves that step. */
process.once("message", async ({ shared, folder, pauseAt, command }: PausedDeploymentInput) => {
  const store = await openSharedStore(shared)
  const options = sites({ folder, ...(command === undefined ? {} : { build: { command } }) })
  const { target } = options
  const pause = Effect.andThen(
    Effect.sync(() => process.send?.("paused")),
    Effect.never
  )
  const { unpack, build, check } = target
  await createTollgate({
    store,
    secret,
    publicUrl: "http://127.0.0.1",
    modules: [
      deployments({
        ...options,
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
      })
    ]
  })
  process.send?.("open")
})
process.send?.("ready")
