/**
 * Measures an upload as it streams: enforces the size limit, verifies `Content-Digest`, and detects clients that stall
 * or send too slowly.
 */

import { createHash, type Hash } from "node:crypto"
import { RequestTimeout } from "@tollgate/core/module"
import { Effect, Stream } from "effect"
import { invalidDigest, sourceTooLarge, uploadIncomplete } from "./uploadErrors.ts"

/** Seconds between two checks. The other durations are multiples of it. */
const checkInterval = 5
/** Seconds without a byte after which the upload fails. */
const maxSilence = 30
/** The minimum average, in bytes per second, after the grace period. */
const minBytesPerSecond = 1024
/** In seconds. */
const gracePeriod = 60
/** In seconds. */
const maxDuration = 60 * 60

interface UploadRate {
  readonly bytes: number
  /** Seconds since the upload started. */
  readonly elapsed: number
  /** Seconds spent waiting for the client. */
  readonly waitedSeconds: number
  /** Seconds since the client's last byte. */
  readonly silentSeconds: number
}

/** Says why an upload is too slow. Returns undefined if it is not. */
const findRateProblem = ({ bytes, elapsed, waitedSeconds, silentSeconds }: UploadRate): string | undefined => {
  if (silentSeconds >= maxSilence) return `No data arrived for ${maxSilence} seconds`
  if (waitedSeconds > gracePeriod && bytes < waitedSeconds * minBytesPerSecond) {
    return `The upload averaged less than ${minBytesPerSecond} bytes per second`
  }
  return elapsed > maxDuration ? `The upload took longer than ${maxDuration / 60} minutes` : undefined
}

/** Parses the supported digests of a `Content-Digest` header (RFC 9530). */
export const parseContentDigest = (
  header: string
): ReadonlyArray<readonly [algorithm: "sha256" | "sha512", digest: string]> =>
  [...header.matchAll(/(?:^|,)\s*(sha-256|sha-512)=:([A-Za-z0-9+/=]+):/g)].map(
    ([, name, digest = ""]) => [name === "sha-256" ? "sha256" : "sha512", digest] as const
  )

/** Wraps the content in a stream that fails if the content is too large or does not match its digest. */
export const guardUpload = <E>(
  content: Stream.Stream<Uint8Array, E>,
  limit: number,
  contentDigest: string | undefined
) => {
  const expectedDigests = contentDigest === undefined ? [] : parseContentDigest(contentDigest)
  const sha256 = createHash("sha256")
  const hashes = new Map<string, Hash>(expectedDigests.map(([algorithm]) => [algorithm, createHash(algorithm)]))
  let bytes = 0
  let digest = ""
  let isWaiting = false
  let hasReceivedChunk = false
  const digestMatches = (): boolean => {
    const actual = new Map([...hashes].map(([algorithm, hash]) => [algorithm, hash.digest("base64")]))
    return expectedDigests.every(([algorithm, expected]) => actual.get(algorithm) === expected)
  }
  /** Tracks when the stream waits for the client, since time that a slow source store takes does not count. */
  const trackedContent = Stream.transformPull(content, (pull) =>
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
  const stream = trackedContent.pipe(
    Stream.mapEffect((chunk) => {
      hasReceivedChunk = true
      bytes += chunk.byteLength
      if (bytes > limit) return Effect.fail(sourceTooLarge(limit))
      sha256.update(chunk)
      for (const hash of hashes.values()) hash.update(chunk)
      return Effect.succeed(chunk)
    }),
    Stream.concat(
      Stream.fromEffectDrain(
        Effect.gen(function* () {
          if (bytes === 0) return yield* uploadIncomplete("the body is empty")
          if (!digestMatches())
            return yield* invalidDigest("does not match the received content; send the source again")
          digest = sha256.digest("hex")
        })
      )
    )
  )
  /**
   * Fails when the client stalls or is too slow. One timer per upload, since one per chunk would cost more than the
   * chunk.
   */
  const failWhenStalled = Effect.gen(function* () {
    let [waitedSeconds, silentSeconds] = [0, 0]
    for (let elapsed = checkInterval; ; elapsed += checkInterval) {
      hasReceivedChunk = false
      yield* Effect.sleep({ seconds: checkInterval })
      silentSeconds = hasReceivedChunk || !isWaiting ? 0 : silentSeconds + checkInterval
      if (!isWaiting) continue
      waitedSeconds += checkInterval
      const problem = findRateProblem({ bytes, elapsed, waitedSeconds, silentSeconds })
      if (problem !== undefined) return yield* new RequestTimeout({ detail: `${problem}. Send the source again.` })
    }
  })
  return { stream, failWhenStalled, getResult: () => ({ bytes, digest }) }
}
