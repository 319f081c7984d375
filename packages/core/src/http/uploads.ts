/**
 * Receives an uploaded source. The signature in the URL authorizes it, and the body is a stream.
 */
import { Effect } from "effect"
import { toSourceStream } from "../deployments/uploads/sourceStream.ts"
import type { Uploads } from "../deployments/uploads/Uploads.ts"
import { UnsupportedEncoding } from "../errors/requestErrors.ts"
import type { AnyRequest } from "../operations/checkOwner.ts"
import { RequestContext } from "./RequestContext.ts"

export const receiveUpload =
  (uploads: Uploads["Service"]) =>
  ({ params = {}, query = {}, headers = {} }: AnyRequest) =>
    Effect.gen(function* () {
      const { request } = yield* RequestContext
      const encoding = request.headers["content-encoding"] ?? "identity"
      if (encoding.toLowerCase() !== "identity") {
        return yield* new UnsupportedEncoding({ detail: "Send the archive without Content-Encoding" })
      }
      const [, id = ""] = /^(.+)\.tar\.gz$/.exec(params["file"] ?? "") ?? []
      const { expires = "", signature = "" } = query as { readonly expires?: string; readonly signature?: string }
      const { contentDigest } = headers as { readonly contentDigest?: string }
      const contentLength = request.headers["content-length"]
      return yield* uploads.receive({ id, expires, signature }, toSourceStream(request.body()), {
        transferOwnership: true,
        contentLength: contentLength === undefined ? undefined : Number(contentLength),
        contentDigest
      })
    })
