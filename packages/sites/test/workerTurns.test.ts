/**
 * The workers of deployments take turns: uploads of one account do not delay those of another.
 */
import { AccountName } from "@tollgate/core/effect"
import type { Release } from "@tollgate/deployments"
import { BranchName, DeploymentName, ProjectName } from "@tollgate/deployments"
import { eventually, temporaryFolder } from "@tollgate/testing"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { expect, it } from "vitest"
import { sites } from "../src/index.ts"
import { makePageArchive } from "./archives.ts"

const archive = makePageArchive("<h1>one</h1>")

it("unpacks the upload of an account next, while another account has two workers and more uploads", () =>
  Effect.gen(function* () {
    const { target } = sites({ folder: yield* temporaryFolder, workers: 2 })
    /** The accounts of releases, in the order in which workers took them. A worker reads a source twice. */
    const started = new Map<string, string>()
    /** Starts a run, whose source is sent to its worker only after `finish`. */
    const unpack = Effect.fnUntraced(function* (account: string, index: number) {
      const sent = yield* Deferred.make<void>()
      const id = `${account}-${index}`
      const begin = Effect.sync(() => started.set(id, account))
      const source = Stream.unwrap(Effect.as(Effect.andThen(begin, Deferred.await(sent)), Stream.make(archive)))
      const release: Release = {
        id,
        source,
        earlier: [],
        sourceBytes: archive.length,
        log: () => undefined,
        deployment: {
          name: DeploymentName.make(`${id}-aaaaaaaaaaaa`),
          accountName: AccountName.make(account),
          projectName: ProjectName.make("docs"),
          branchName: BranchName.make("main"),
          environmentType: "PREVIEW"
        }
      }
      const fiber = yield* Effect.forkChild(target.unpack?.(release) ?? Effect.die("no step"), {
        startImmediately: true
      })
      return { finish: Effect.andThen(Deferred.succeed(sent, undefined), Fiber.join(fiber)) }
    })
    const busy = yield* Effect.forEach([0, 1, 2, 3, 4, 5], (index) => unpack("busy", index))
    const quiet = yield* Effect.forEach([0, 1], (index) => unpack("quiet", index))
    const order = ["busy", "busy", "quiet", "quiet", "busy", "busy", "busy", "busy"]
    const expectStarted = (count: number) =>
      Effect.promise(() => eventually(() => expect(started.size).toBe(count))).pipe(
        Effect.andThen(Effect.sync(() => expect([...started.values()]).toEqual(order.slice(0, count))))
      )
    yield* expectStarted(2)
    const runs = [busy.slice(0, 1), quiet.slice(0, 1), busy.slice(1, 2), quiet.slice(1), busy.slice(2)].flat()
    for (const [index, { finish }] of runs.entries()) {
      yield* finish
      yield* expectStarted(Math.min(index + 3, order.length))
    }
  }).pipe(Effect.scoped, Effect.runPromise))
