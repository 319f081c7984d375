/**
 * What a large upload adds to the memory of the server that takes it.
 */
import { fork } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"

const mebibyte = 1024 * 1024
const size = 90 * mebibyte
const chunk = 64 * 1024
/** MiB by which the process may grow. */
const bound = 30

export interface UploadRow {
  readonly uploaded: string
  readonly before: number
  readonly peak: number
  readonly growth: number
  readonly withinBound: boolean
}

const readResidentMemory = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024

/** So many bytes, in pieces, none of which is kept. */
const bytes = (total: number): ReadableStream<Uint8Array> => {
  const piece = randomBytes(chunk)
  let sent = 0
  return new ReadableStream({
    pull: (controller) => {
      if (sent >= total) return controller.close()
      const next = piece.subarray(0, Math.min(chunk, total - sent))
      sent += next.length
      controller.enqueue(next)
    }
  })
}

const post = async (url: string, project: string): Promise<string> => {
  const response = await fetch(`${url}/v1/deployments/sources`, {
    method: "POST",
    headers: { authorization: "Bearer a-token-of-the-benchmarks" },
    body: JSON.stringify({ accountName: "bench", projectName: project, branchName: "main" })
  })
  return ((await response.json()) as { readonly uploadUrl: string }).uploadUrl
}

const put = async (uploadUrl: string, body: ReadableStream<Uint8Array> | Uint8Array): Promise<void> => {
  const response = await fetch(uploadUrl, { method: "PUT", body, duplex: "half" } as RequestInit)
  if (response.status !== 200) throw new Error(`an upload was answered with ${response.status}`)
  await response.arrayBuffer()
}

const measure = async (folder: string): Promise<UploadRow> => {
  const child = fork(new URL("./server.worker.ts", import.meta.url), { execArgv: ["--conditions=source"] })
  try {
    child.send(folder)
    const [url] = (await once(child, "message")) as [string]
    // The first upload loads what every upload needs.
    for (let warmUp = 0; warmUp < 5; warmUp++) await put(await post(url, "small"), gzipSync(randomBytes(mebibyte)))
    const uploadUrl = await post(url, "large")
    const before = readResidentMemory(child.pid ?? 0)
    let peak = before
    const watching = setInterval(() => {
      peak = Math.max(peak, readResidentMemory(child.pid ?? 0))
    }, 5)
    await put(uploadUrl, bytes(size))
    clearInterval(watching)
    peak = Math.max(peak, readResidentMemory(child.pid ?? 0))
    return {
      uploaded: `${size / mebibyte} MiB`,
      before,
      peak,
      growth: peak - before,
      withinBound: peak - before < bound
    }
  } finally {
    child.kill("SIGKILL")
  }
}

export const measureUpload = Effect.scoped(
  Effect.flatMap(temporaryFolder, (folder) => Effect.promise(() => measure(folder)))
)
