/** The time of the server: the clock of this computer may be wrong. */
let aheadMs = 0

/** Reads the clock from a response, to the second. */
export const readServerClock = ({ headers }: Response): void => {
  const date = Date.parse(headers.get("date") ?? "")
  if (!Number.isNaN(date)) aheadMs = date - Date.now()
}

export const getServerTime = (): number => Date.now() + aheadMs
