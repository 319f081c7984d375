/**
 * `POST /demo`: fills the demo account, once, for whoever may do everything. The console offers it on an overview that is
 * nearly empty.
 */
import { inspect } from "node:util"
import type { RequestHandler } from "express"
import { isFilled } from "./fillCompany.ts"
import type { Gate } from "./gate.ts"

/** Whether the credential may do everything in all accounts. */
const mayFill = async (gate: Gate, authorization: string): Promise<boolean> => {
  const response = await gate.handler(new Request("http://127.0.0.1/v1/me", { headers: { authorization } }))
  if (!response.ok) return false
  const { accountName, permissions = [] } = (await response.json()) as {
    readonly accountName: string
    readonly permissions?: ReadonlyArray<string>
  }
  return accountName === "*" && permissions.includes("*")
}

export const serveDemoFiller = (gate: Gate, fill: () => Promise<void>): RequestHandler => {
  let filling: Promise<void> | undefined
  return async (req, res) => {
    if (!(await mayFill(gate, req.headers.authorization ?? ""))) {
      res.status(403).json({ detail: "Filling the demo account needs all permissions in all accounts" })
      return
    }
    // Of two clicks, the second waits for the first.
    filling ??= isFilled(gate).then((isDone) => (isDone ? undefined : fill()))
    try {
      await filling
      res.status(204).end()
    } catch (error) {
      filling = undefined
      // An error that comes from the thread may have no prototype.
      res.status(500).json({ detail: error instanceof Error ? error.message : inspect(error) })
    }
  }
}
