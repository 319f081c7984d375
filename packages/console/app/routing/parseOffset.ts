/** The offset of a list from the address, which anyone may have written. */
export const parseOffset = (text: string | undefined): number => {
  const offset = Number(text ?? 0)
  return Number.isSafeInteger(offset) && offset > 0 ? offset : 0
}
