/**
 * Exact decimal arithmetic for shares of a limit.
 */

/** Splits a number into its digits and the number of decimals: 0.29 becomes 29 and 2. */
const toDecimal = (value: number): readonly [digits: bigint, decimals: number] => {
  const [mantissa = "0", exponent = "0"] = String(value).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  const decimals = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return decimals < 0 ? [digits * 10n ** BigInt(-decimals), 0] : [digits, decimals]
}

/** The exact product of two non-negative decimal numbers. */
const multiply = (max: number, share: number): readonly [integerPart: bigint, hasFraction: boolean] => {
  const [[left, leftDecimals], [right, rightDecimals]] = [toDecimal(max), toDecimal(share)]
  const divisor = 10n ** BigInt(leftDecimals + rightDecimals)
  return [(left * right) / divisor, (left * right) % divisor > 0n]
}

const toSafeInteger = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value)

/**
 * `floor(max × share)` in exact decimal arithmetic, for non-negative numbers: 100 × 0.29 is 29, where floating-point
 * arithmetic gives 28. The result is at most `Number.MAX_SAFE_INTEGER`.
 */
export const floorProduct = (max: number, share: number): number => toSafeInteger(multiply(max, share)[0])

/** Like `floorProduct`, but rounded up. */
export const ceilProduct = (max: number, share: number): number => {
  const [integerPart, hasFraction] = multiply(max, share)
  return toSafeInteger(hasFraction ? integerPart + 1n : integerPart)
}
