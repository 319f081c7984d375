/**
 * A source is measured as it passes: how long it is, whether it is what was promised, and whether it still comes.
 */
import { createHash, type Hash } from "node:crypto"
import { Effect, Stream } from "effect"
import { InvalidInput } from "../../schema/InvalidInput.ts"
import { SourceTooLarge, UploadInterrupted, UploadStalled } from "../model/DeploymentError.ts"

/** Seconds between two looks at the sender; every time below is a multiple of it. */
const interval = 5
/** Seconds for which a sender may be silent. */
const maxSilentIntervals = 30
/** Bytes per second that a sender must reach on average, once the grace period is over. */
const minBytesPerSecond = 1024
const gracePeriod = 60
/** Seconds that an upload may take. */
const maxDuration = 60 * 60

interface Pace {
  readonly bytes: number
  /** Seconds since the upload began, those in which the sender was waited for, and those since its last byte. */
  readonly elapsed: number
  readonly waited: number
  readonly silent: number
}

const findProblem = ({ bytes, elapsed, waited, silent }: Pace): string | undefined => {
  if (silent >= maxSilentIntervals) return `Nothing came for ${maxSilentIntervals} seconds`
  if (waited > gracePeriod && bytes < waited * minBytesPerSecond) {
    return `The source came at less than ${minBytesPerSecond} bytes per second on average`
  }
  return elapsed > maxDuration ? `The upload took longer than ${maxDuration / 60} minutes` : undefined
}

/** What a `Content-Digest` promises, by the algorithms that are known (RFC 9530). */
export const parseContentDigest = (
  header: string
): ReadonlyArray<readonly [algorithm: "sha256" | "sha512", digest: string]> =>
  [...header.matchAll(/(?:^|,)\s*(sha-256|sha-512)=:([A-Za-z0-9+/=]+):/g)].map(
    ([, name, digest = ""]) => [name === "sha-256" ? "sha256" : "sha512", digest] as const
  )

export const invalidDigest = (detail: string) => new InvalidInput({ errors: [{ parameter: "Content-Digest", detail }] })

/** The same content, measured as it passes: what is too long, or not what was promised, fails before its end. */
export const meterUpload = <E>(
  content: Stream.Stream<Uint8Array, E>,
  limit: number,
  contentDigest: string | undefined
) => {
  const expectedDigests = contentDigest === undefined ? [] : parseContentDigest(contentDigest)
  const sha256 = createHash("sha256")
  const others = new Map<string, Hash>(expectedDigests.map(([algorithm]) => [algorithm, createHash(algorithm)]))
  let bytes = 0
  let digest = ""
  let isWaiting = false
  let hasArrived = false
  const digestMatches = (): boolean => {
    const made = new Map([...others].map(([algorithm, hash]) => [algorithm, hash.digest("base64")]))
    return expectedDigests.every(([algorithm, expected]) => made.get(algorithm) === expected)
  }
  /** Notes when the sender is waited for. A store that is slow to take a piece, or to finish, is no fault of the sender. */
  const awaited = Stream.transformPull(content, (pull) =>
    Effect.succeed(
      Effect.suspend(() => {
        isWaiting = true
        return Effect.onExit(pull, () => {
          isWaiting = false
          return Effect.void
        })
      })
    )
  )
  const stream = awaited.pipe(
    Stream.mapEffect((chunk) => {
      hasArrived = true
      bytes += chunk.byteLength
      if (bytes > limit) return Effect.fail(new SourceTooLarge({ limit }))
      sha256.update(chunk)
      for (const hash of others.values()) hash.update(chunk)
      return Effect.succeed(chunk)
    }),
    Stream.concat(
      Stream.fromEffectDrain(
        Effect.gen(function* () {
          if (bytes === 0) return yield* new UploadInterrupted({ problem: "its body is empty" })
          if (!digestMatches()) return yield* invalidDigest("it is not the digest of what arrived; send it again")
          digest = sha256.digest("hex")
        })
      )
    )
  )
  /** Fails when the sender stops or is too slow. One timer for all pieces: one for each costs more than the piece. */
  const watch = Effect.gen(function* () {
    let [waited, silent] = [0, 0]
    for (let elapsed = interval; ; elapsed += interval) {
      hasArrived = false
      yield* Effect.sleep({ seconds: interval })
      silent = hasArrived || !isWaiting ? 0 : silent + interval
      if (!isWaiting) continue
      waited += interval
      const problem = findProblem({ bytes, elapsed, waited, silent })
      if (problem !== undefined) return yield* new UploadStalled({ problem: `${problem}. Send it again.` })
    }
  })
  return { stream, watch, received: () => ({ bytes, digest }) }
}
