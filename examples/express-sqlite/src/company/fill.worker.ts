/**
 * A thread in which it is another time: the clock of the services is `Date.now`, and a thread has one of its own. Fills the
 * account through a connection of its own to the store.
 */
import { workerData } from "node:worker_threads"
import { createTollgate } from "tollgate"
import { adminConsole } from "tollgate/console"
import { decisions } from "tollgate/decisions"
import { webhooks } from "tollgate/webhooks"
import { openStore } from "../openStore.ts"
import { fillCompany } from "./fillCompany.ts"

/** What the worker is started with. */
export interface FillData {
  readonly store: string
  readonly secrets: string | ReadonlyArray<string>
  readonly end: number
}

const { store: storeName, secrets, end } = workerData as FillData

let time = end
Date.now = () => time

const store = await openStore(storeName, { clock: "caller" })
try {
  await fillCompany({
    open: () =>
      createTollgate({
        store,
        secret: secrets,
        logger: { debug: () => {}, info: () => {}, warn: console.warn, error: console.error },
        modules: [adminConsole(), decisions(), webhooks({ allowPrivateNetworks: true })]
      }),
    setTime: (milliseconds) => {
      time = milliseconds
    },
    end
  })
} finally {
  await store.close()
}
