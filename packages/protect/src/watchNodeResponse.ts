/**
 * Reports how a request to a server of Node ended: with success if the whole response was sent with a status below 400,
 * otherwise, also when the client disconnects, with failure. Before that, it reports when the body begins.
 */
import type { ServerResponse } from "node:http"
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2"
import type { ReportOutcome } from "./reportOutcome.ts"

/** `statusCode` may have changed after the response was sent, for example if two handlers respond. */
const getSentStatus = (response: ServerResponse): number | undefined => {
  const head = Reflect.get(response, "_header")
  const [, status] = (typeof head === "string" ? /^HTTP\/\S+ (\d{3})/.exec(head) : undefined) ?? []
  if (status !== undefined) return Number(status)
  return response.headersSent ? response.statusCode : undefined
}

const getSentStatusOfStream = ({ sentHeaders }: ServerHttp2Stream): number | undefined =>
  sentHeaders === undefined ? undefined : Number(sentHeaders[":status"])

const isSuccess = (status: number | undefined): boolean => status !== undefined && status < 400

interface Writer {
  write: (...args: never) => boolean
}

/** Calls `onWrite` after each write of a body. It stays in place, because others may have replaced `write` meanwhile. */
const watchWrites = (writer: Writer, onWrite: () => void): void => {
  const { write } = writer
  writer.write = (...args) => {
    const isWritable = write.apply(writer, args)
    onWrite()
    return isWritable
  }
}

const watchHttp1 = (response: ServerResponse, reportOutcome: ReportOutcome): void => {
  const reportSent = (): void => {
    if (isSuccess(getSentStatus(response))) reportOutcome("sent")
  }
  const onFinish = (): void => reportOutcome(isSuccess(getSentStatus(response)) ? "success" : "failure")
  const onClose = (): void => {
    // The body was given to `end`, and the client disconnected while it was sent.
    if (response.writableEnded) reportSent()
    reportOutcome("failure")
  }
  watchWrites(response, reportSent)
  response.once("finish", onFinish).once("close", onClose)
  // The response may have ended while the request was authorized.
  if (response.writableFinished) onFinish()
  else if (response.destroyed) onClose()
}

/** HTTP/2 emits `finish` for aborted responses too. For HEAD, its stream is finished from the start, and then closes. */
const watchHttp2 = (stream: ServerHttp2Stream, reportOutcome: ReportOutcome): void => {
  const reportSent = (): void => {
    if (isSuccess(getSentStatusOfStream(stream))) reportOutcome("sent")
  }
  const reportIfComplete = (): void => {
    const status = getSentStatusOfStream(stream)
    if (stream.aborted || !stream.writableFinished || status === undefined) return
    reportOutcome(isSuccess(status) ? "success" : "failure")
  }
  const onClose = (): void => {
    reportIfComplete()
    if (stream.writableEnded) reportSent()
    reportOutcome("failure")
  }
  watchWrites(stream, reportSent)
  stream.once("finish", reportIfComplete).once("close", onClose)
  if (stream.destroyed) onClose()
  else reportIfComplete()
}

export const watchNodeResponse = (
  response: ServerResponse | Http2ServerResponse,
  reportOutcome: ReportOutcome
): void =>
  "createPushResponse" in response ? watchHttp2(response.stream, reportOutcome) : watchHttp1(response, reportOutcome)
