import { Button } from "@tollgate/ui/components/Button.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { useState } from "preact/hooks"
import { address, setQuery } from "../../routing/router.ts"
import { statusOptions } from "./subscriptionStatus.ts"

/** The filters of the list of subscriptions. They are in the address, so that a link carries them. */
export const SubscriptionFilters = () => {
  const { query } = address.value
  const [customerKey, setCustomerKey] = useState(query["customerKey"] ?? "")
  const [customerExternalId, setCustomerExternalId] = useState(query["customerExternalId"] ?? "")
  const [subscriptionExternalId, setSubscriptionExternalId] = useState(query["subscriptionExternalId"] ?? "")
  const [status, setStatus] = useState(query["status"] ?? "")
  const apply = (filter: Readonly<Record<string, string>>): void => setQuery({ ...filter, offset: undefined })
  return (
    <form
      class="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        apply({ customerKey, customerExternalId, subscriptionExternalId, status })
      }}
    >
      <TextField label="Customer" type="search" value={customerKey} onInput={setCustomerKey} />
      <TextField
        label="Your id of the customer"
        type="search"
        value={customerExternalId}
        onInput={setCustomerExternalId}
      />
      <TextField
        label="Your id of the subscription"
        type="search"
        value={subscriptionExternalId}
        onInput={setSubscriptionExternalId}
      />
      <Select
        label="Status"
        value={status}
        options={[{ value: "", label: "any" }, ...statusOptions]}
        onChange={setStatus}
      />
      <Button type="submit">Filter</Button>
      <Button
        onClick={() => apply({ customerKey: "", customerExternalId: "", subscriptionExternalId: "", status: "" })}
      >
        Clear
      </Button>
    </form>
  )
}
