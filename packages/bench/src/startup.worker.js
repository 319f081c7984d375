/**
 * A new process: empty, with `@tollgate/core` imported, or with a verified key. It is JavaScript, so that the time to
 * strip types is not measured.
 */
const [task, path, secret, account, bucket, key] = process.argv.slice(2)

if (task === "import") await import("@tollgate/core")
if (task === "verify") {
  const [{ createTollgate }, { SqliteStore }] = await Promise.all([
    import("@tollgate/core"),
    import("@tollgate/sqlite")
  ])
  const gate = await createTollgate({ store: await SqliteStore.open(path), secret })
  const { valid } = await gate.account(account).keyBucket(bucket).verify(key)
  if (!valid) throw new Error("the key is not valid")
}
const { user, system } = process.cpuUsage()
process.send({ bytes: process.memoryUsage().rss, cpuMilliseconds: (user + system) / 1000 })
