import type { EventJson } from "../../api/types.ts"

const kinds = { token: "token", host: "your server", system: "Tollgate" } as const

/** Who made a change: "Ann", "token ASNFZ4mrze8BI0Vn", "your server (ann@example.com)", "Tollgate". */
export const describeActor = ({ type, id, name }: EventJson["actor"]): string => {
  if (name !== undefined) return name
  if (id === undefined) return kinds[type]
  return type === "token" ? `token ${id}` : `${kinds[type]} (${id})`
}
