/**
 * An attacker who can write to the store but does not have the secret. An encrypted value that was moved to another
 * record or changed leads to a decryption error, never to a wrong value.
 */
import { createTollgate } from "@tollgate/core"
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { describe, expect, it, vi } from "vitest"
import { secret, setUpStore, stores } from "./stores.ts"

const token = "a-management-token-of-this-test"
const [account, bucket] = ["acme", "b"]

/** The encrypted value of a key's record, and a function that replaces it. */
const readKeyRecord = async (store: StoreOperations, keyId: string) => {
  const partition = Partition.forKeyBucket(account, bucket)
  const findRecord = async () => {
    const [page] = await Effect.runPromise(store.list(partition, [{ indexTerms: ["key"], offset: 0, limit: 100 }]))
    const record = page?.records.find(({ key }) => key.endsWith(keyId))
    if (record === undefined) throw new Error("The key record does not exist")
    return record
  }
  const pattern = /(?<="sealed":")[^"]*/
  const encrypted = pattern.exec((await findRecord()).body)?.[0] ?? ""
  const write = async (replacement: string) => {
    const { version, body, key, indexTerms, uniqueKeys, parent } = await findRecord()
    const forged = {
      key,
      expect: version,
      body: body.replace(pattern, replacement),
      indexTerms,
      uniqueKeys,
      ...(parent && { parent })
    }
    await Effect.runPromise(store.commit(partition, [Change.Put(forged)]))
  }
  return { encrypted, write }
}

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)

  it("decrypts a value only in its own record and only if it is unchanged", async () => {
    const store = makeEmptyStore()
    const gate = await createTollgate({ store, secret, tokens: [{ token, account }] })
    const keyBucket = gate.account(account).keyBucket(bucket)
    const created = await keyBucket.consumers.create({ name: "alice", apiKeys: [{}, {}] })
    const [apiKey, otherKey] = created.apiKeys ?? []
    const [record, otherRecord] = [
      await readKeyRecord(store, apiKey?.id ?? ""),
      await readKeyRecord(store, otherKey?.id ?? "")
    ]
    const read = () => keyBucket.keys.get("alice", apiKey?.id ?? "", { keyFormat: "visible" })
    expect((await read()).key).toBe(apiKey?.key)
    expect(record.encrypted.length).toBeGreaterThan(50)

    let [errors, unaffected] = [0, 0]
    const tryValue = async (encrypted: string) => {
      await record.write(encrypted)
      await read().then(
        // The last base64 character contains padding bits. Changing them does not change the value.
        ({ key }) => {
          expect(key, encrypted).toBe(apiKey?.key)
          unaffected++
        },
        (error) => {
          expect(String(error), encrypted).toMatch(
            /Cannot decrypt a stored value: (it was modified|it was not encrypted with any of the configured)/
          )
          errors++
        }
      )
    }
    await tryValue(otherRecord.encrypted)
    expect(errors).toBe(1)
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined)
    const path = `http://gate/v1/accounts/${account}/key-buckets/${bucket}/consumers/alice/keys/${apiKey?.id}`
    const headers = { authorization: `Bearer ${token}` }
    const response = await gate.handler(new Request(`${path}?key-format=visible`, { headers }))
    log.mockRestore()
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain(otherKey?.key)

    for (let index = 0; index < record.encrypted.length; index++) {
      const replacement = record.encrypted[index] === "A" ? "B" : "A"
      await tryValue(record.encrypted.slice(0, index) + replacement + record.encrypted.slice(index + 1))
      await tryValue(record.encrypted.slice(0, index))
    }
    await record.write(record.encrypted)
    expect((await read()).key).toBe(apiKey?.key)
    console.log(
      `encrypted values, ${name}: 1 moved, ${errors + unaffected - 1} changed or truncated: ${errors} decryption errors, 0 wrong values`
    )
    expect(unaffected).toBeLessThan(4)
    await gate.close()
  }, 60_000)
})
