import { Session } from "node:inspector"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"

const secret = "a secret of the tests, and of nobody else"
const gate = await createTollgate({
  store: MemoryStore.open(),
  secret,
  tokens: [{ token: "a-token-of-the-benchmarks", account: "acme" }]
})
await gate.consumers.create("acme", "b", { name: "alice", tags: { team: "blue" } }, { withApiKey: true })
const url = "http://localhost/v1/accounts/acme/key-buckets/b/consumers/alice"
const headers = { authorization: "Bearer a-token-of-the-benchmarks" }
const asked = { method: "GET", url: "/v1/accounts/acme/key-buckets/b/consumers/alice", headers: { host: "localhost:3000", connection: "keep-alive", ...headers }, read: async () => undefined, stream: () => null, request: () => new Request(url), signal: () => new AbortController().signal }
const one = async () => { const r = await gate.exchange(asked); if (r.status !== 200) throw new Error(String(r.status)) }
const timed = async (name: string, f: () => Promise<unknown>, n: number) => {
  const s = process.cpuUsage()
  const t = performance.now()
  for (let i = 0; i < n; i++) await f()
  const c = process.cpuUsage(s)
  console.log(
    name,
    (((performance.now() - t) / n) * 1000).toFixed(1),
    "µs wall",
    ((c.user + c.system) / n).toFixed(1),
    "µs cpu"
  )
}
await timed("warm", one, 4000)
await timed("handler", one, 6000)
await timed(
  "Request alone",
  async () => {
    new Request(url, { headers })
  },
  6000
)
await timed(
  "Request+Response",
  async () => {
    new Request(url, { headers })
    await new Response("{}", { headers: { a: "b", c: "d", "content-type": "application/json" } }).arrayBuffer()
  },
  6000
)
await timed("get by promise", () => gate.consumers.get("acme", "b", "alice"), 6000)
if (process.argv[2] === "prof") {
  const session = new Session()
  session.connect()
  const post = (m: string, p?: object) =>
    new Promise<any>((res, rej) => session.post(m, p as any, (e, r) => (e ? rej(e) : res(r))))
  await post("Profiler.enable")
  await post("Profiler.setSamplingInterval", { interval: 100 })
  await post("Profiler.start")
  await timed("profiled", one, 8000)
  const { profile } = await post("Profiler.stop")
  const self = new Map<string, number>()
  const total: any = new Map()
  const byId = new Map(profile.nodes.map((n: any) => [n.id, n]))
  const dt = profile.timeDeltas
  let sum = 0
  const selfOf = new Map<number, number>()
  profile.samples.forEach((id: number, i: number) => {
    selfOf.set(id, (selfOf.get(id) ?? 0) + dt[i])
    sum += dt[i]
  })
  const files = new Map<string, number>()
  for (const [id, t] of selfOf) {
    const n: any = byId.get(id)
    const f = n.callFrame
    const file = f.url.replace(/.*node_modules\//, "").replace(/.*packages\//, "")
    const k = `${f.functionName || "(anon)"} ${file}:${f.lineNumber + 1}`
    self.set(k, (self.get(k) ?? 0) + t)
    files.set(file, (files.get(file) ?? 0) + t)
  }
  console.log("--- self")
  for (const [k, t] of [...self].sort((a, b) => b[1] - a[1]).slice(0, 60)) console.log(((t / sum) * 100).toFixed(1), k)
  const parent = new Map<number, number>()
  for (const n of profile.nodes) for (const c of n.children ?? []) parent.set(c, n.id)
  const stage = new Map<string, number>()
  for (const [id, t] of selfOf) {
    const chain: string[] = []
    let cur: number | undefined = id
    while (cur !== undefined) {
      const f: any = (byId.get(cur) as any).callFrame
      const file = f.url.replace(/.*node_modules\//, "").replace(/.*packages\//, "")
      if (f.functionName === "runLoop") break
      if (!/internal\/(effect|core)\.js$|Function\.js$|^node:|^$/.test(file))
        chain.unshift(`${f.functionName || "(anon)"} ${file}:${f.lineNumber + 1}`)
      cur = parent.get(cur)
    }
    const k = chain[0] ?? "(effect runtime or native)"
    stage.set(k, (stage.get(k) ?? 0) + t)
  }
  console.log("--- stages")
  for (const [k, t] of [...stage].sort((a, b) => b[1] - a[1]).slice(0, 60)) console.log(((t / sum) * 100).toFixed(1), k)
  console.log("--- files")
  for (const [k, t] of [...files].sort((a, b) => b[1] - a[1]).slice(0, 40)) console.log(((t / sum) * 100).toFixed(1), k)
}
await gate.close()
