/**
 * Measures how much the memory of the server process grows during a large upload.
 */
import { fork } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"
import { limits } from "./limits.ts"

const mebibyte = 1024 * 1024
const uploadBytes = 90 * mebibyte
const chunkSize = 64 * 1024

export interface UploadRow {
  readonly uploaded: string
  readonly before: number
  readonly peak: number
  readonly growth: number
  readonly isWithinLimit: boolean
}

const readResidentMemory = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024

/** A stream of `total` bytes that repeats one chunk, so that it needs no memory itself. */
const streamBytes = (total: number): ReadableStream<Uint8Array> => {
  const chunk = randomBytes(chunkSize)
  let sent = 0
  return new ReadableStream({
    pull: (controller) => {
      if (sent >= total) return controller.close()
      const next = chunk.subarray(0, Math.min(chunkSize, total - sent))
      sent += next.length
      controller.enqueue(next)
    }
  })
}

const createSource = async (url: string, project: string): Promise<string> => {
  const response = await fetch(`${url}/v1/deployments/sources`, {
    method: "POST",
    headers: { authorization: "Bearer a-token-of-the-benchmarks" },
    body: JSON.stringify({ accountName: "bench", projectName: project, branchName: "main" })
  })
  return ((await response.json()) as { readonly uploadUrl: string }).uploadUrl
}

const upload = async (uploadUrl: string, body: ReadableStream<Uint8Array> | Uint8Array): Promise<void> => {
  const response = await fetch(uploadUrl, { method: "PUT", body, duplex: "half" } as RequestInit)
  if (response.status !== 200) throw new Error(`The upload responded with ${response.status}`)
  await response.arrayBuffer()
}

const measure = async (folder: string): Promise<UploadRow> => {
  const child = fork(new URL("./server.worker.ts", import.meta.url), { execArgv: ["--conditions=@tollgate/source"] })
  try {
    child.send(folder)
    const [url] = (await once(child, "message")) as [string]
    // Warm up: the first uploads load code and allocate buffers.
    for (let round = 0; round < 5; round++)
      await upload(await createSource(url, "small"), gzipSync(randomBytes(mebibyte)))
    const uploadUrl = await createSource(url, "large")
    const before = readResidentMemory(child.pid ?? 0)
    let peak = before
    const sampling = setInterval(() => {
      peak = Math.max(peak, readResidentMemory(child.pid ?? 0))
    }, 5)
    await upload(uploadUrl, streamBytes(uploadBytes))
    clearInterval(sampling)
    peak = Math.max(peak, readResidentMemory(child.pid ?? 0))
    return {
      uploaded: `${uploadBytes / mebibyte} MiB`,
      before,
      peak,
      growth: peak - before,
      isWithinLimit: peak - before <= limits.uploadMebibytes
    }
  } finally {
    child.kill("SIGKILL")
  }
}

export const measureUpload = Effect.scoped(
  Effect.flatMap(temporaryFolder, (folder) => Effect.promise(() => measure(folder)))
)
