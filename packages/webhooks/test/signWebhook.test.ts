import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Webhook, WebhookVerificationError } from "standardwebhooks"
import { SecureRandom } from "../../store/src/crypto/SecureRandom.ts"
import { generateWebhookSecret, signWebhook } from "../src/signWebhook.ts"

const id = "evt_1"
const body = JSON.stringify({ type: "consumer.created", data: { name: "Zoë" } })

/** The verifier accepts timestamps of the last five minutes by the system clock. */
const now = Math.floor(Date.now() / 1000)

const verify = (secret: string, signature: string, text = body) =>
  new Webhook(secret).verify(text, {
    "webhook-id": id,
    "webhook-timestamp": String(now),
    "webhook-signature": signature
  })

describe("signWebhook", () => {
  it.effect("makes signatures that another implementation verifies", () =>
    Effect.gen(function* () {
      const secret = yield* generateWebhookSecret
      assert.deepStrictEqual(verify(secret, signWebhook([secret], id, now, body)), JSON.parse(body))
    })
  )

  it.effect("signs with each secret, and with no other", () =>
    Effect.gen(function* () {
      const [first, second, other] = [
        yield* generateWebhookSecret,
        yield* generateWebhookSecret,
        yield* generateWebhookSecret
      ]
      const signature = signWebhook([first, second], id, now, body)
      assert.match(signature, /^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/)
      assert.deepStrictEqual(verify(first, signature), JSON.parse(body))
      assert.deepStrictEqual(verify(second, signature), JSON.parse(body))
      assert.throws(() => verify(other, signature), WebhookVerificationError)
    })
  )

  it.effect("covers the id, the time and every byte of the body", () =>
    Effect.gen(function* () {
      const secret = yield* generateWebhookSecret
      assert.throws(() => verify(secret, signWebhook([secret], "evt_2", now, body)), WebhookVerificationError)
      assert.throws(() => verify(secret, signWebhook([secret], id, now - 1, body)), WebhookVerificationError)
      assert.throws(() => verify(secret, signWebhook([secret], id, now, body), `${body} `), WebhookVerificationError)
    })
  )
})

describe("generateWebhookSecret", () => {
  it.effect("encodes 32 bytes of the secure source", () =>
    Effect.gen(function* () {
      const secret = yield* generateWebhookSecret
      assert.strictEqual(secret, `whsec_${Buffer.alloc(32, 0xfb).toString("base64")}`)
    }).pipe(Effect.provideService(SecureRandom, { bytes: (count) => new Uint8Array(count).fill(0xfb) }))
  )
})
