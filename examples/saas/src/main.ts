/**
 * `npm start`: the API on SQLite, with the stand-ins. Who orders something has paid.
 */
import { randomUUID } from "node:crypto"
import { createTollgate } from "tollgate"
import { adminConsole } from "tollgate/console"
import { customerPortal } from "tollgate/portal"
import { SqliteStore } from "tollgate/sqlite"
import { webhooks } from "tollgate/webhooks"
import { createApp } from "./app.ts"
import { askModel, pay, paymentSecret } from "./standIns.ts"

const port = Number(process.env["PORT"] ?? 3000)
const url = `http://127.0.0.1:${port}`
const store = await SqliteStore.open("saas.db")
const gate = await createTollgate({
  store,
  secret: process.env["TOLLGATE_SECRET"],
  tokens: [{ token: process.env["TOLLGATE_TOKEN"] ?? "", account: "acme" }],
  publicUrl: `${url}/admin`,
  modules: [
    webhooks({ allowPrivateNetworks: true }), // the mailer runs on this machine
    adminConsole(),
    customerPortal({ name: "Acme", meteringBucket: "default" })
  ]
})
const checkout = async (customer: string, product: string) => {
  await pay(`${url}/webhooks/payments`, { order: randomUUID(), customer, product })
  return "https://example.com/paid"
}
const app = await createApp(gate, { checkout, paymentSecret, askModel })
const server = app.listen(port, "127.0.0.1", async () => {
  const { url } = await gate.createConsoleLink({ account: "acme", name: "you" })
  console.log(`Listening on port ${port}. The console: ${url}`)
})
const stop = () =>
  server.close(async () => {
    await gate.close()
    await store.close()
  })
process.once("SIGINT", stop).once("SIGTERM", stop)
