import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { requireApiKey } from "@tollgate/node"
import { expect, it } from "vitest"
import { listen } from "./protectingFrameworks.ts"

it("finds a key only in the query, not in the path", async () => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret: "a-secret-of-32-characters-for-tests" })
  const production = gate.account("acme").keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  const protect = requireApiKey(production, { keyFrom: { query: "key" } })
  const { url, close } = await listen((req, res) => void protect(req, res, () => void res.end(req.consumer?.name)))
  const getStatus = async (path: string) => (await fetch(`${url}${path}`)).status
  const key = apiKeys[0].key
  expect(await getStatus(`/hello?key=${key}`)).toBe(200)
  expect(await getStatus(`/hello?a=?&key=${key}`)).toBe(200)
  expect(await getStatus(`/hello&key=${key}`)).toBe(401)
  expect(await getStatus(`/hello?key=${key}&key=${key}`)).toBe(401)
  await close()
  await gate.close()
})
