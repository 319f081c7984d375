/**
 * Somebody who can write to the store, and has no secret: a sealed value that was moved to another record, or changed in
 * any place, is an error that says so, and never a wrong value.
 */
import { Change, createTollgate, Partition, type StoreOperations } from "@tollgate/core"
import { Effect } from "effect"
import { describe, expect, it, vi } from "vitest"
import { openedFor, secret, stores } from "./stores.ts"

const token = "a-token-of-this-test"
const [account, bucket] = ["acme", "b"]

/** The record of a key, and a way to write it anew with another seal. */
const recordOf = async (store: StoreOperations, keyId: string) => {
  const partition = Partition.keys(account, bucket)
  const find = async () => {
    const [page] = await Effect.runPromise(store.list(partition, [{ indexTerms: ["key"], offset: 0, limit: 100 }]))
    const record = page?.records.find(({ key }) => key.endsWith(keyId))
    if (record === undefined) throw new Error("there is no such key")
    return record
  }
  const pattern = /(?<="sealed":")[^"]*/
  const sealed = pattern.exec((await find()).body)?.[0] ?? ""
  const write = async (changed: string) => {
    const { version, body, key, indexTerms, uniqueKeys, parent } = await find()
    const forged = {
      key,
      expect: version,
      body: body.replace(pattern, changed),
      indexTerms,
      uniqueKeys,
      ...(parent && { parent })
    }
    await Effect.runPromise(store.commit(partition, [Change.Put(forged)]))
  }
  return { sealed, write }
}

describe.each(stores)("on %s", (name, layer) => {
  const emptyStore = openedFor(layer)

  it("no seal opens but where it was made, as it was made", async () => {
    const store = emptyStore()
    const gate = await createTollgate({ store, secret, tokens: [{ token, account }] })
    const made = await gate.consumers.create(account, bucket, { name: "alice", apiKeys: [{}, {}] })
    const [mine, other] = made.apiKeys ?? []
    const [record, second] = [await recordOf(store, mine?.id ?? ""), await recordOf(store, other?.id ?? "")]
    const read = () => gate.keys.get(account, bucket, "alice", mine?.id ?? "", { keyFormat: "visible" })
    expect((await read()).key).toBe(mine?.key)
    expect(record.sealed.length).toBeGreaterThan(50)

    let [errors, right] = [0, 0]
    const attempt = async (seal: string) => {
      await record.write(seal)
      await read().then(
        // The last characters of a seal hold bits that mean nothing.
        ({ key }) => {
          expect(key, seal).toBe(mine?.key)
          right++
        },
        (error) => {
          expect(String(error), seal).toMatch(
            /Cannot decrypt a stored value: (it was modified|it was not encrypted with any of the configured)/
          )
          errors++
        }
      )
    }
    await attempt(second.sealed)
    expect(errors).toBe(1)
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined)
    const path = `http://gate/v1/accounts/${account}/key-buckets/${bucket}/consumers/alice/keys/${mine?.id}`
    const headers = { authorization: `Bearer ${token}` }
    const answer = await gate.handler(new Request(`${path}?key-format=visible`, { headers }))
    log.mockRestore()
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain(other?.key)

    for (let index = 0; index < record.sealed.length; index++) {
      const replacement = record.sealed[index] === "A" ? "B" : "A"
      await attempt(record.sealed.slice(0, index) + replacement + record.sealed.slice(index + 1))
      await attempt(record.sealed.slice(0, index))
    }
    await record.write(record.sealed)
    expect((await read()).key).toBe(mine?.key)
    console.log(
      `seals, ${name}: 1 moved, ${errors + right - 1} changed or cut off: ${errors} errors that say so, 0 wrong values`
    )
    expect(right).toBeLessThan(4)
    await gate.close()
  }, 60_000)
})
