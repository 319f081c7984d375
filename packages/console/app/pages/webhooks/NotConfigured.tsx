import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"

export const NotConfigured = () => (
  <EmptyState title="This server has no webhooks">
    <p>
      Webhooks are a module. Pass <code>modules: [webhooks()]</code> to <code>createTollgate</code>, with{" "}
      <code>@tollgate/webhooks</code>.
    </p>
  </EmptyState>
)
