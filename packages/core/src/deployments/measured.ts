/**
 * A source is measured as it passes: how long it is, whether it is what was promised, and whether it still comes.
 */
import { createHash, type Hash } from "node:crypto"
import { Effect, Stream } from "effect"
import { InvalidInput } from "../shared/InvalidInput.ts"
import { SourceTooLarge, UploadInterrupted, UploadStalled } from "./DeploymentError.ts"

/** How often it is looked whether anything has come; whoever was silent so many times in a row is given up. */
const [interval, patience] = ["5 seconds", 6] as const

/** What a `Content-Digest` promises, by the algorithms that are known (RFC 9530). */
export const digestsIn = (header: string): ReadonlyArray<readonly [algorithm: "sha256" | "sha512", digest: string]> =>
  [...header.matchAll(/(?:^|,)\s*(sha-256|sha-512)=:([A-Za-z0-9+/=]+):/g)].map(
    ([, name, digest = ""]) => [name === "sha-256" ? "sha256" : "sha512", digest] as const
  )

export const wrongDigest = (detail: string) => new InvalidInput({ errors: [{ parameter: "Content-Digest", detail }] })

/** The same content, measured as it passes: what is too long, or not what was promised, fails before its end. */
export const measured = <E>(
  content: Stream.Stream<Uint8Array, E>,
  limit: number,
  contentDigest: string | undefined
) => {
  const promised = contentDigest === undefined ? [] : digestsIn(contentDigest)
  const sha256 = createHash("sha256")
  const others = new Map<string, Hash>(promised.map(([algorithm]) => [algorithm, createHash(algorithm)]))
  let bytes = 0
  let digest = ""
  let isSilent = false
  const isAsPromised = (): boolean => {
    const made = new Map([...others].map(([algorithm, hash]) => [algorithm, hash.digest("base64")]))
    return promised.every(([algorithm, expected]) => made.get(algorithm) === expected)
  }
  const stream = content.pipe(
    Stream.mapEffect((chunk) => {
      isSilent = false
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
          if (!isAsPromised()) return yield* wrongDigest("it is not the digest of what arrived; send it again")
          digest = sha256.digest("hex")
        })
      )
    )
  )
  /** Fails when nothing has come for a while. One watch for all pieces: a timer for each costs more than the piece. */
  const watch = Effect.gen(function* () {
    for (let silences = 0; silences < patience; silences = isSilent ? silences + 1 : 0) {
      isSilent = true
      yield* Effect.sleep(interval)
    }
    return yield* new UploadStalled()
  })
  return { stream, watch, received: () => ({ bytes, digest }) }
}
