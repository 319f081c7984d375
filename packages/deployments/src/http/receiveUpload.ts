/**
 * Receives an uploaded source. The signature in the URL authorizes it, and the body is a stream.
 */
import { type AnyRequest, RequestContext, UnsupportedEncoding } from "@tollgate/core/module"
import { Effect, Stream } from "effect"
import { toSourceStream } from "../uploads/sourceStream.ts"
import type { Uploads } from "../uploads/Uploads.ts"

/** The body of the HTTP request. */
const readBody = Effect.gen(function* () {
  const { request } = yield* RequestContext
  const encoding = request.headers["content-encoding"] ?? "identity"
  if (encoding.toLowerCase() !== "identity") {
    return yield* new UnsupportedEncoding({ detail: "Send the archive without Content-Encoding" })
  }
  const length = request.headers["content-length"]
  return {
    content: toSourceStream(request.body()),
    contentLength: length === undefined ? undefined : Number(length)
  }
})

/** In process, the payload is a stream whose chunks belong to the upload. */
export const receiveUpload =
  (uploads: Uploads["Service"]) =>
  ({ params = {}, query = {}, headers = {}, payload }: AnyRequest) =>
    Effect.gen(function* () {
      const { content, contentLength } = Stream.isStream(payload)
        ? { content: payload as Stream.Stream<Uint8Array, unknown>, contentLength: undefined }
        : yield* readBody
      const [, id = ""] = /^(.+)\.tar\.gz$/.exec(params["file"] ?? "") ?? []
      const { expires = "", signature = "" } = query as { readonly expires?: string; readonly signature?: string }
      const { contentDigest } = headers as { readonly contentDigest?: string }
      return yield* uploads.receive({ id, expires, signature }, content, {
        transferOwnership: true,
        contentLength,
        contentDigest
      })
    })
