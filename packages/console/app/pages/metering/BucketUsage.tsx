import { Button } from "@tollgate/ui/components/Button.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useState } from "preact/hooks"
import { canWrite } from "../../session/session.ts"
import { toBucketPath } from "./meteringAddresses.ts"
import { RecordUsageDialog } from "./RecordUsageDialog.tsx"
import { UsagePanel } from "./UsagePanel.tsx"

/** The usage of all subscriptions of a metering bucket. */
export const BucketUsage = ({ bucket }: { readonly bucket: string }) => {
  const [isRecording, setIsRecording] = useState(false)
  const [revision, setRevision] = useState(0)
  const recordButton = canWrite.value && <Button onClick={() => setIsRecording(true)}>Record usage</Button>
  return (
    <Section title="Usage of all subscriptions" actions={recordButton}>
      <p class="hint">By day, up to a minute late. Hours and periods are on the page of each subscription.</p>
      <UsagePanel path={`${toBucketPath(bucket)}/usage`} steps={["day"]} fileName="usage" revision={revision} />
      {isRecording && (
        <RecordUsageDialog
          bucket={bucket}
          onRecorded={() => setRevision(revision + 1)}
          onClose={() => setIsRecording(false)}
        />
      )}
    </Section>
  )
}
