import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../Api.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { explained } from "./problems.ts"

const healthy = { status: "ok" } as const

export const SystemHttp = HttpApiBuilder.group(
  Api,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Store
    return handlers.handleAll({
      alive: () => Effect.succeed(healthy),
      ready: () => explained(Effect.as(store.get(Partition.keysDirectory, ["any"]), healthy))
    })
  })
)
