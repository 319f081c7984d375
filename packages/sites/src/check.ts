/**
 * Tests a release before it is public: serves it on a temporary local server and requests its entry file.
 */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { ReleaseRejectedError } from "./limits.ts"
import { findEntryFile, findFile, type Manifest } from "./manifest.ts"
import { serve } from "./serve.ts"

const requestTimeout = 30_000

/** Returns the requested path. Throws `ReleaseRejectedError` if the release does not serve its entry file. */
export const checkRelease = async (folder: string, manifest: Manifest, signal: AbortSignal): Promise<string> => {
  const entry = findEntryFile(manifest)
  if (entry === undefined) throw new ReleaseRejectedError("The release contains no files to serve")
  const server = createServer(async (req, res) => {
    try {
      const request = new Request(`http://localhost${req.url}`)
      const response = await serve(folder, manifest, req.url ?? "/", request)
      res.writeHead(response.status, Object.fromEntries(response.headers))
      if (response.body === null) res.end()
      else Readable.fromWeb(response.body as never).pipe(res)
    } catch {
      res.writeHead(500).end()
    }
  })
  server.listen(0, "127.0.0.1")
  try {
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const path = `/${entry.split("/").map(encodeURIComponent).join("/")}`
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)])
    })
    if (response.status !== 200) throw new ReleaseRejectedError(`GET ${path} returned ${response.status}`)
    const hash = createHash("sha256")
    for await (const chunk of response.body ?? []) hash.update(chunk)
    if (hash.digest("base64url") !== findFile(manifest, entry)?.digest)
      throw new ReleaseRejectedError(`GET ${path} did not return the complete file`)
    return path
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
