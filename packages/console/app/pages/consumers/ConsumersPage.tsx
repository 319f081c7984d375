import { Button, LinkButton } from "@tollgate/ui/components/Button.tsx"
import { SecretDialog } from "@tollgate/ui/components/SecretDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useState } from "preact/hooks"
import type { ConsumerJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { goTo } from "../../routing/router.ts"
import { canWrite, may } from "../../session/session.ts"
import { ConsumerList } from "./ConsumerList.tsx"
import { CreateConsumerDialog } from "./CreateConsumerDialog.tsx"
import { linkToBuckets, linkToConsumer, linkToRefusals } from "./paths.ts"
import { VerifyKeyForm } from "./VerifyKeyForm.tsx"
import "../../styles/consumers.css"

/** The consumers of a key bucket. */
export const ConsumersPage = ({ params: { account = "", bucket = "" } }: { readonly params: PageParams }) => {
  const params = { account, bucket }
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<ConsumerJson>()
  const open = ({ name }: ConsumerJson): void => goTo(linkToConsumer({ ...params, consumer: name }))
  return (
    <>
      <PageHeader title={`Consumers in ${bucket}`} parents={[{ label: "APIs", link: linkToBuckets(account) }]}>
        {may("decisions:read") && <LinkButton href={linkToRefusals(params)}>Refused requests</LinkButton>}
        {canWrite.value && (
          <Button kind="primary" onClick={() => setIsCreating(true)}>
            Create consumer
          </Button>
        )}
      </PageHeader>
      <ConsumerList params={params} onCreate={() => setIsCreating(true)} />
      <VerifyKeyForm params={params} />
      {isCreating && (
        <CreateConsumerDialog
          params={params}
          onClose={() => setIsCreating(false)}
          onCreated={(consumer) => {
            setIsCreating(false)
            showToast(`Created ${consumer.name}`)
            if (consumer.apiKeys?.[0]?.key === undefined) open(consumer)
            else setCreated(consumer)
          }}
        />
      )}
      {created !== undefined && (
        <SecretDialog
          title={`The key of ${created.name}`}
          secrets={(created.apiKeys ?? []).flatMap(({ key }) =>
            key === undefined ? [] : [{ label: created.name, value: key }]
          )}
          onClose={() => {
            setCreated(undefined)
            open(created)
          }}
        >
          <p>Copy it now and hand it to its owner. Whoever has it can call your API as {created.name}.</p>
        </SecretDialog>
      )}
    </>
  )
}
