/** The storages of the browser. Where it blocks them, nothing is kept. */
export interface SafeStorage {
  readonly get: (key: string) => string | undefined
  /** `undefined` removes the value. */
  readonly set: (key: string, value: string | undefined) => void
}

const makeSafe = (open: () => Storage): SafeStorage => ({
  get: (key) => {
    try {
      return open().getItem(key) ?? undefined
    } catch {
      return undefined
    }
  },
  set: (key, value) => {
    try {
      if (value === undefined) open().removeItem(key)
      else open().setItem(key, value)
    } catch {
      // It is blocked or full: what would be kept is still in memory.
    }
  }
})

/** Until the tab is closed. */
export const tabStorage = makeSafe(() => sessionStorage)

/** For ever, in all tabs. */
export const browserStorage = makeSafe(() => localStorage)
