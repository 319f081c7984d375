/** A number as an integer and how many of its digits are decimals: 0.29 is 29 and 2. */
const decimalOf = (value: number): readonly [digits: bigint, decimals: number] => {
  const [mantissa = "0", exponent = "0"] = String(value).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  const decimals = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return decimals < 0 ? [digits * 10n ** BigInt(-decimals), 0] : [digits, decimals]
}

const divided = (max: number, share: number): readonly [quotient: bigint, hasRemainder: boolean] => {
  const [[left, leftDecimals], [right, rightDecimals]] = [decimalOf(max), decimalOf(share)]
  const divisor = 10n ** BigInt(leftDecimals + rightDecimals)
  return [(left * right) / divisor, (left * right) % divisor > 0n]
}

const countable = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value)

/**
 * `floor(max × share)` of the decimal numbers as they were written, for numbers from 0: 100 × 0.29 is 29, where binary
 * fractions would give 28. Never more than `max`, and never more than what can be counted exactly.
 */
export const floorProduct = (max: number, share: number): number => countable(divided(max, share)[0])

/** The same, rounded up. */
export const ceilProduct = (max: number, share: number): number => {
  const [quotient, hasRemainder] = divided(max, share)
  return countable(hasRemainder ? quotient + 1n : quotient)
}
