/** What people of the company do in the console: requests with a session of theirs, so that events name them. */
import type { Gate } from "./gate.ts"

export interface Person {
  readonly send: (method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown) => Promise<unknown>
}

const origin = "http://127.0.0.1"

const send = async (gate: Gate, method: string, path: string, body: unknown, token?: string): Promise<unknown> => {
  const response = await gate.handler(
    new Request(`${origin}${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  )
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === "" ? undefined : JSON.parse(text)
}

/** Signs a person in, as a link to the console does. */
export const signIn = async (gate: Gate, account: string, name: string): Promise<Person> => {
  const { url } = await gate.createConsoleLink({ account, name, permissions: ["*"] })
  const [, code] = url.split("#code=")
  const { token } = (await send(gate, "POST", "/console/session", { code })) as { readonly token: string }
  return { send: (method, path, body) => send(gate, method, path, body, token) }
}
