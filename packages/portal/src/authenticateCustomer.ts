import { type CallerShape, findConsumer, KeyBucketName, omitUndefined, Store } from "@tollgate/core/module"
import type { Credentials, StoredCustomerSession } from "@tollgate/tokens"
import { Effect } from "effect"

/** Without permissions: what a customer reaches is for the operations to say that are open to customers. */
const toCaller = ({
  id,
  account,
  name,
  keyBucketName: bucketName,
  consumerName,
  allow
}: StoredCustomerSession): CallerShape =>
  omitUndefined({
    id,
    name,
    account,
    access: "read" as const,
    permissions: [],
    portal: { bucketName, consumerName, allow }
  })

/**
 * The customer that the token of a session authenticates. Reads the consumer each time: the portal of one that is disabled is
 * closed at once, and one that is created again under the same name is another customer.
 */
export const makeAuthenticate = ({ findCustomerSession }: Credentials["Service"], store: Store["Service"]) =>
  Effect.fnUntraced(
    function* (value: string) {
      const session = yield* findCustomerSession(value)
      if (session === undefined || session.account === "*") return undefined
      const { account: accountName, keyBucketName, consumerName, consumerId } = session
      const bucket = { accountName, bucketName: KeyBucketName.make(keyBucketName) }
      const consumer = yield* findConsumer(bucket, consumerName).pipe(
        Effect.catchTag("ConsumerNotFound", () => Effect.succeed(undefined))
      )
      const isOpen = consumer?.value.id === consumerId && consumer.value.disabled !== true
      return isOpen ? toCaller(session) : undefined
    },
    Effect.provideService(Store, store)
  )
