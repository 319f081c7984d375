/** Sends an archive with `XMLHttpRequest`, since `fetch` does not tell how much has been sent. */
import { type ApiError, toApiError, unreachableError } from "@tollgate/ui/api/ApiError.ts"
import { toApiUrl } from "@tollgate/ui/api/request.ts"
import { connection } from "@tollgate/ui/session/connection.ts"

const uploadsPath = "/v1/uploads/"

/**
 * The URL of an upload as this page can reach it: the one that the server made has its `publicUrl`, which may be another
 * origin, and the page may only send to its own.
 */
const toUploadUrl = (uploadUrl: string): URL => {
  const { pathname, searchParams } = new URL(uploadUrl)
  return toApiUrl(pathname.slice(pathname.lastIndexOf(uploadsPath)), Object.fromEntries(searchParams))
}

/** The id of the deployment status is the name of the uploaded file. */
export const getStatusId = (uploadUrl: string): string =>
  new URL(uploadUrl).pathname
    .split("/")
    .at(-1)
    ?.replace(/\.tar\.gz$/, "") ?? ""

const readError = (request: XMLHttpRequest): Promise<ApiError> =>
  toApiError(
    new Response(request.responseText, {
      status: request.status,
      headers: { "x-request-id": request.getResponseHeader("x-request-id") ?? "" }
    })
  )

export interface UploadOptions {
  readonly signal: AbortSignal
  readonly onProgress: (sentBytes: number) => void
}

export const uploadArchive = (uploadUrl: string, archive: Blob, { signal, onProgress }: UploadOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open("PUT", toUploadUrl(uploadUrl))
    request.setRequestHeader("content-type", "application/gzip")
    request.upload.onprogress = ({ loaded }) => onProgress(loaded)
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve()
      else readError(request).then(reject, reject)
    }
    request.onerror = () => {
      connection.lost()
      reject(unreachableError)
    }
    request.onabort = () => reject(signal.reason)
    signal.addEventListener("abort", () => request.abort(), { once: true })
    request.send(archive)
  })
