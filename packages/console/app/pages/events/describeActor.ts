import type { EventJson } from "../../api/types.ts"

const kinds = { token: "token", host: "your server", system: "Tollgate" } as const

/** Who made a change: "token ASNFZ4mrze8BI0Vn", "your server (ann@example.com)", "Tollgate". */
export const describeActor = ({ type, id }: EventJson["actor"]): string => {
  if (id === undefined) return kinds[type]
  return type === "token" ? `token ${id}` : `${kinds[type]} (${id})`
}
