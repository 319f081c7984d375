import { request as httpRequest } from "node:http"

export interface RequestInput {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request with a Host header to a local server. */
export const sendRequest = (
  port: string,
  host: string,
  path: string,
  { method = "GET", headers = {} }: RequestInput = {}
) =>
  new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    httpRequest({ hostname: "127.0.0.1", port, path, method, headers: { ...headers, host } }, (res) => {
      let text = ""
      res.on("data", (chunk) => {
        text += chunk
      })
      res.on("end", () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }))
    })
      .on("error", reject)
      .end()
  })
