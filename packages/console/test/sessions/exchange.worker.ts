/**
 * A process that tries to use the codes of several links.
 */
import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"
import { runAsWorker } from "@tollgate/testing"
import { secret } from "../../../core/test/secrets.ts"
import { consoleModule } from "../../src/consoleModule.ts"
import { testConsole } from "./consoles.ts"

export interface ExchangeInput {
  readonly path: string
  readonly codes: ReadonlyArray<string>
}

runAsWorker(async ({ path, codes }: ExchangeInput) => {
  const store = await SqliteStore.open(path)
  const gate = await createTollgate({ store, secret, modules: [consoleModule(testConsole)] })
  const statuses: Array<number> = []
  for (const code of codes) {
    const body = JSON.stringify({ code })
    const { status } = await gate.handler(new Request("http://gate/console/session", { method: "POST", body }))
    statuses.push(status)
  }
  await gate.close()
  await store.close()
  return statuses
})
