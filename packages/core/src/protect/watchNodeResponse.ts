/**
 * Reports how a request to a server of Node ended: with success if the whole response was sent with a status below 400,
 * otherwise, also when the client disconnects, with failure.
 */
import type { ServerResponse } from "node:http"
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2"
import type { ReportOutcome } from "../authorize/reportOutcome.ts"

/** `statusCode` may have changed after the response was sent, for example if two handlers respond. */
const getSentStatus = (response: ServerResponse): number | undefined => {
  const head = Reflect.get(response, "_header")
  const [, status] = (typeof head === "string" ? /^HTTP\/\S+ (\d{3})/.exec(head) : undefined) ?? []
  if (status !== undefined) return Number(status)
  return response.headersSent ? response.statusCode : undefined
}

/** Undefined if the response was not sent completely. */
const getSentStatusOfStream = (stream: ServerHttp2Stream): number | undefined => {
  const { aborted, sentHeaders, writableFinished } = stream
  return aborted || !writableFinished || sentHeaders === undefined ? undefined : Number(sentHeaders[":status"])
}

export const watchNodeResponse = (
  response: ServerResponse | Http2ServerResponse,
  reportOutcome: ReportOutcome
): void => {
  const report = (status: number | undefined): void =>
    reportOutcome(status !== undefined && status < 400 ? "success" : "failure")

  // The response may have ended while the request was authorized.
  if (!("createPushResponse" in response)) {
    response.once("finish", () => report(getSentStatus(response))).once("close", () => reportOutcome("failure"))
    if (response.writableFinished) report(getSentStatus(response))
    else if (response.destroyed) reportOutcome("failure")
    return
  }
  // HTTP/2 emits `finish` for aborted responses too. For HEAD, its stream is finished from the start, and then closes.
  const { stream } = response
  const reportIfSent = (): void => {
    const status = getSentStatusOfStream(stream)
    if (status !== undefined) report(status)
  }
  stream.once("finish", reportIfSent).once("close", () => report(getSentStatusOfStream(stream)))
  if (stream.destroyed) report(getSentStatusOfStream(stream))
  else reportIfSent()
}
