/**
 * Which form of a result a client asks for.
 */

/** The quality of a media range of an `Accept` header; 0 if it is refused. */
const parseQuality = (parameters: ReadonlyArray<string>): number => {
  const quality = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/i.exec(parameter)?.[1]).find(Boolean)
  return quality === undefined ? 1 : Number(quality)
}

/** Whether an `Accept` header names this type, and does not prefer JSON. */
export const prefersType = (type: string, accept: string | undefined): boolean => {
  const qualities = new Map<string, number>()
  for (const range of (accept ?? "").slice(0, 1_000).split(",")) {
    const [type = "", ...parameters] = range.split(";")
    qualities.set(type.trim().toLowerCase(), parseQuality(parameters))
  }
  const quality = qualities.get(type) ?? 0
  const json = qualities.get("application/json") ?? qualities.get("application/*") ?? qualities.get("*/*") ?? 0
  return quality > 0 && quality >= json
}
