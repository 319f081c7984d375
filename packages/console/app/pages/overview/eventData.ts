/** Reads the data of events, whose form depends on their type. */
import { get, toPath } from "@tollgate/ui/api/request.ts"
import type { EventJson, PageJson } from "../../api/types.ts"

export const getText = ({ data }: EventJson, name: string): string => {
  const value = data[name]
  return typeof value === "string" ? value : ""
}

/** The latest events of a type, newest first. */
export const loadEvents = async (
  account: string,
  type: string,
  limit: number,
  signal: AbortSignal
): Promise<ReadonlyArray<EventJson>> =>
  (await get<PageJson<EventJson>>(`${toPath("/v1/accounts", account)}/events`, { type, limit }, signal)).data
