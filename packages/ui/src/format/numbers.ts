import { makeOnce, words } from "../words.ts"

const counts = makeOnce(() => new Intl.NumberFormat(words.language))
const shares = makeOnce(() => new Intl.NumberFormat(words.language, { style: "percent" }))
const units = ["bytes", "kB", "MB", "GB"]

export const formatCount = (count: number): string => counts().format(count)

export const formatShare = (share: number): string => shares().format(share)

export const formatBytes = (bytes: number): string => {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`
}

/** "1 key", "2 keys". */
export const formatQuantity = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`
