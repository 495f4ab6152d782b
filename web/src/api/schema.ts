// Generated from tests/interfaces/rest/openapi.json by `npm run types`.

export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit
         * @description List audit events, oldest or newest first.
         */
        get: operations["audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify Audit
         * @description Check the audit chain to its head and against the last exported head.
         *
         *     Events that the service found whole within the last day are not read again unless `full` asks for it.
         */
        get: operations["verify_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Endpoints
         * @description List the endpoints by id, page by page: `after` is `next` of the page before.
         */
        get: operations["endpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update Endpoint
         * @description Change an endpoint's id, aliases or labels.
         */
        patch: operations["update_endpoint"];
        trace?: never;
    };
    "/api/v1/endpoints/{endpoint}/browse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Browse
         * @description List one folder, ordered by name.
         */
        get: operations["browse"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/endpoints/{endpoint}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove Endpoint
         * @description Forget an endpoint whose node exports its root no longer: its names are free again.
         */
        post: operations["remove_endpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changes
         * @description Stream what changes: `event` is the kind, `id` the number to resume after, `data` a Change.
         */
        get: operations["changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/group-bindings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Group Bindings
         * @description List what the groups of issuers give here.
         */
        get: operations["group_bindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/group-bindings/proposals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Propose Group Bindings
         * @description Propose what the groups of issuers give, for another administrator, or say whose rights that would change.
         */
        post: operations["propose_group_bindings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/group-bindings/proposals/{proposal}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish Group Bindings
         * @description Let the groups of issuers give what another administrator has proposed.
         */
        post: operations["publish_group_bindings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description Say whether the service can work; needs no sign-in, and tells operators and administrators the causes.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/interpretations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Interpret
         * @description Read words without planning; nothing is listed or moved.
         */
        post: operations["interpret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept Invitation
         * @description Choose a password with a one-time link's token, and start a session.
         */
        post: operations["accept_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/invitations/look": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look At Invitation
         * @description Say whom a one-time link invites; it can still be used.
         */
        post: operations["look_at_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Me
         * @description Say who is calling, and what that caller may do.
         */
        get: operations["me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change Password
         * @description Replace one's own password; one's other sessions end.
         */
        post: operations["change_password"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Nodes
         * @description List the nodes by name, page by page, and whether they are attached.
         */
        get: operations["nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/join-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create Join Token
         * @description Make a one-time token with which one node may join.
         */
        post: operations["create_join_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain Node
         * @description Give a node no new work; what runs there goes on.
         */
        post: operations["drain_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/host": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Node Host
         * @description Ask a node what its host is like, and for its route to the IP address `to`.
         */
        get: operations["node_host"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove Node
         * @description Forget a revoked node: its names are free again, its key stays refused.
         */
        post: operations["remove_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke Node
         * @description End a node's membership for good; what runs there stops.
         */
        post: operations["revoke_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate Node
         * @description Make a one-time token with which a node takes another key; its endpoints stay.
         */
        post: operations["rotate_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/throughput": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Node Throughput
         * @description Show how fast a node sent or received over time: the last hour, unless a range is given.
         */
        get: operations["node_throughput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node}/undrain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undrain Node
         * @description Give a drained node work again.
         */
        post: operations["undrain_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Passkeys
         * @description List the caller's passkeys, or as an administrator a person's.
         */
        get: operations["passkeys"];
        put?: never;
        /**
         * Add Passkey
         * @description Add a passkey, with which the caller signs in and proves consent from then on.
         */
        post: operations["add_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/passkeys/challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin Passkey
         * @description Begin to add a passkey, with a proof that the person is there; `passkeys` are those that there are.
         */
        post: operations["begin_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/passkeys/use": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Use Passkey
         * @description Use a passkey in the session that calls: from then on policy sees its factors in what is asked there.
         */
        post: operations["use_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/passkeys/{passkey}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove Passkey
         * @description Remove one of the caller's passkeys, with a proof that the person is there.
         */
        post: operations["remove_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * People
         * @description List people, oldest first, with their identities elsewhere.
         */
        get: operations["people"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite
         * @description Invite a person by a one-time link, shown once.
         */
        post: operations["invite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/service-accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create Service Account
         * @description Make an account that owns tokens of pipelines and never signs in.
         */
        post: operations["create_service_account"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update Person
         * @description Replace the roles or groups that are granted to a person.
         */
        patch: operations["update_person"];
        trace?: never;
    };
    "/api/v1/people/{person}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable Person
         * @description Disable a person; their sessions and tokens end.
         */
        post: operations["disable_person"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable Person
         * @description Let a disabled person who signs in elsewhere, or a service account, act again; what ended stays ended.
         */
        post: operations["enable_person"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Link Identity
         * @description Make who somebody is at an issuer this person's; whose it was loses it, and is signed out.
         */
        post: operations["link_identity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}/identities/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unlink Identity
         * @description Take an identity from a person, who is signed out.
         */
        post: operations["unlink_identity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite Again
         * @description Give a person a new one-time link, shown once: to join, to come back, or for another password.
         */
        post: operations["invite_again"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}/passkeys/{passkey}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove Passkey Of
         * @description Remove one of a person's passkeys, as an administrator.
         */
        post: operations["remove_passkey_of"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/people/{person}/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End Session Of
         * @description End one of a person's sessions, as an administrator.
         */
        delete: operations["end_session_of"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Plans
         * @description List the caller's plans (or a person's that the caller may see), or others' that wait for the caller.
         */
        get: operations["plans"];
        put?: never;
        /**
         * Create Plan
         * @description Start planning; answers at once, usually in state `surveying`.
         */
        post: operations["create_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Plan Counts
         * @description Count the plans that wait for the caller's approval, and the caller's own that could still start.
         */
        get: operations["plan_counts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Plan
         * @description Return a plan by id or digest, with its sealed document when asked for.
         */
        get: operations["plan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve Plan
         * @description Give or refuse another person's yes; needs an interactive session.
         */
        post: operations["approve_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan}/confirmations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm Plan
         * @description Give or decline the requester's own yes; needs an interactive session.
         */
        post: operations["confirm_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan}/drop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drop Plan
         * @description Give up the caller's own plan that has not started.
         */
        post: operations["drop_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan}/losses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Losses
         * @description List what a plan replaces at its destination, then what it deletes there, name by name; nothing is moved.
         */
        get: operations["losses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why
         * @description Explain the decision on a plan, with its rules.
         */
        get: operations["why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Policies
         * @description List the policy's versions, newest first, as many as fit an answer.
         */
        get: operations["policies"];
        put?: never;
        /**
         * Propose Policy
         * @description Store a valid policy text as a proposed version.
         */
        post: operations["propose_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check Policy
         * @description Check a policy text and its examples; nothing is stored.
         */
        post: operations["check_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/guide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Guided Rules
         * @description Make the rules of a need, with examples that hold beside a text; nothing is stored.
         */
        post: operations["guided_rules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/needs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Policy Needs
         * @description List what rules can be made for from a few values: all of it, which the program holds.
         */
        get: operations["policy_needs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/simulate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Simulate Policy
         * @description Decide the newest 1,000 decided plans again under a text; nothing is stored.
         */
        post: operations["simulate_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/who": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Who May
         * @description Ask the active policy about every active person.
         */
        post: operations["who_may"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/{version}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish Policy
         * @description Make a version active (a retired one: roll back); never by its author.
         */
        post: operations["publish_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/{version}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw Policy
         * @description Take your own proposal back: nobody publishes it any more.
         */
        post: operations["withdraw_policy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/qos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Qos
         * @description Show the links, classes and calendars in force, and what transfers get by them.
         */
        get: operations["qos"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/qos/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check Qos
         * @description Say what stands against publishing a text; nothing is stored.
         */
        post: operations["check_qos"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/qos/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Qos Versions
         * @description List the versions of links, classes and calendars, newest first, as many as fit an answer.
         */
        get: operations["qos_versions"];
        put?: never;
        /**
         * Propose Qos
         * @description Store a text that could be published as a proposed version.
         */
        post: operations["propose_qos"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/qos/versions/{version}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish Qos
         * @description Put a version in force (a retired one: propose it anew); never by its author.
         */
        post: operations["publish_qos"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/qos/versions/{version}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw Qos
         * @description Take your own proposal back: nobody publishes it any more.
         */
        post: operations["withdraw_qos"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Quotas
         * @description List the quotas that concern the caller, and those of places; operators, auditors and administrators see all.
         */
        get: operations["quotas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/receipts/{receipt}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Receipt
         * @description Return a receipt by its id or its transfer's id.
         */
        get: operations["receipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/receipts/{receipt}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Receipt Files
         * @description Stream the per-file list whose digest the receipt's statements hold, one JSON object a line.
         */
        get: operations["receipt_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sessions
         * @description List the caller's sessions, or as an administrator a person's.
         */
        get: operations["sessions"];
        put?: never;
        /**
         * Sign In
         * @description Start an interactive session; a browser gets it as a cookie, and an empty `secret`.
         */
        post: operations["sign_in"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Sign Out
         * @description End the session that this request is made with, and say where a browser ends the one at its provider.
         */
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign In By Passkey
         * @description Start an interactive session with a passkey.
         */
        post: operations["sign_in_by_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/passkey/challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask Passkey
         * @description Return a challenge with which a passkey signs in; needs no sign-in.
         */
        post: operations["ask_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End Session
         * @description End one of the caller's sessions.
         */
        delete: operations["end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ways To Sign In
         * @description List the providers at which people may sign in; needs no sign-in.
         */
        get: operations["ways_to_sign_in"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Begin Sign In
         * @description Send a browser to a provider, where its person signs in; with `proof` anew, to prove what was asked for so.
         */
        get: operations["begin_sign_in"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/{provider}/back-channel-logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Back Channel Logout
         * @description Take a provider's word that sessions have ended there (`logout_token`, a form), and end them here.
         */
        post: operations["back_channel_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/{provider}/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finish Sign In
         * @description Take a browser back from a provider, with a session as its cookie or with a proof, or with a refusal's code.
         */
        get: operations["finish_sign_in"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/{provider}/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin Device Sign In
         * @description Begin a sign-in at a provider on another device, where the person types a code.
         */
        post: operations["begin_device_sign_in"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/{provider}/device/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask Device Sign In
         * @description Ask whether the person has signed in on the other device; the session comes once.
         */
        post: operations["ask_device_sign_in"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/site/halt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Halt
         * @description Halt a transfer, person, assistant, endpoint or node, or everything: what runs of it stops and waits.
         */
        post: operations["halt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/site/halt/{halt}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Release Halt
         * @description Release a halt; what waited for it goes on.
         */
        delete: operations["release_halt"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/site/halts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Halts
         * @description List what is halted, the newest first: all of it, as people halt and release one by one.
         */
        get: operations["halts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens
         * @description List the caller's API tokens, or as an administrator everybody's, oldest first, without their secrets.
         */
        get: operations["tokens"];
        put?: never;
        /**
         * Create Token
         * @description Make an API token; its secret is shown once.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Token
         * @description End an API token at once.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Transfers
         * @description List the transfers that the caller may see, newest first, or in the order `oldest`.
         */
        get: operations["transfers"];
        put?: never;
        /**
         * Submit
         * @description Run a ready plan named by its digest; again, it answers with the transfer there is.
         */
        post: operations["submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Transfer Counts
         * @description Count the transfers that the caller may see, by state; exact up to 1,000.
         */
        get: operations["transfer_counts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Transfer
         * @description Return a transfer by id or unique prefix of its id.
         */
        get: operations["transfer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/control": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Control
         * @description Pause, resume or cancel a transfer, try it again, or change its rate.
         */
        post: operations["control"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/diagnosis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Diagnose
         * @description Say what limits a transfer now, or what limited its last attempt.
         */
        get: operations["diagnose"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Transfer Events
         * @description List kept events in order; with `order=newest` from the last (or the one before `after`) backwards.
         */
        get: operations["transfer_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Failed Files
         * @description List files that did not arrive.
         */
        get: operations["failed_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/measured": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Measured
         * @description Show what both nodes measured of a transfer's data connections and stages: now, or over its last attempt.
         */
        get: operations["measured"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/probe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Probed
         * @description Show what a probe has measured: the rates of its legs, and which stage is the tightest.
         */
        get: operations["probed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/throughput": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Throughput
         * @description Show how fast a transfer was over time: from its start to its end or now, unless a range is given.
         */
        get: operations["throughput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transfers/{transfer}/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch
         * @description Stream events and progress until the transfer ends: `event` is the kind, `data` a TransferEvent.
         */
        get: operations["watch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AcceptInvitation
         * @description The invited person's choice of password.
         */
        AcceptInvitation: {
            /**
             * Name
             * @description only for the bootstrap link, whose person has no name yet
             */
            name?: string | null;
            /**
             * Password
             * @description 12 to 1,000 characters, at least 5 different ones, without the person's name, not easy to guess; a refusal says all that is wrong
             */
            password: string;
            /** Token */
            token: string;
        };
        /**
         * AllowedAction
         * @description Something that can be done to a plan or transfer, and why the caller may not.
         */
        AllowedAction: {
            /**
             * Action
             * @enum {string}
             */
            action: "confirm" | "decline" | "approve" | "refuse" | "submit" | "revise" | "drop" | "pause" | "resume" | "cancel" | "retry" | "set_rate" | "set_class" | "set_deadline" | "halt" | "release" | "run_again";
            /** Allowed */
            allowed: boolean;
            /**
             * Reason
             * @default
             */
            reason: string;
        };
        /**
         * Alternative
         * @description What the request would have to be for a milder answer: `with at most 500 GB`.
         */
        Alternative: {
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "allowed" | "confirm" | "approve";
            /** Words */
            words: string;
        };
        /**
         * Approval
         * @description Another person's yes (or no) to one digest; needs an interactive session, never a token.
         */
        Approval: {
            /** Digest */
            digest: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /**
             * Reason
             * @default
             */
            reason: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "approved" | "refused";
        };
        /**
         * ApprovalView
         * @description Somebody's word on a plan.
         */
        ApprovalView: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Person */
            person: string;
            /**
             * Reason
             * @default
             */
            reason: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "approved" | "refused";
        };
        /**
         * AskedValue
         * @description A value that a need asks for.
         */
        AskedValue: {
            /** Example */
            example: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "place" | "group" | "approvers" | "label" | "time" | "tebibytes" | "gigabytes" | "days";
            /** Name */
            name: string;
            /** Question */
            question: string;
        };
        /**
         * AuditEvent
         * @description One link of the audit chain.
         */
        AuditEvent: {
            /** Agent */
            agent?: string | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /**
             * Detail
             * @default {}
             */
            detail: {
                [key: string]: string;
            };
            /** Door */
            door?: string | null;
            /** Hash */
            hash: string;
            /** Kind */
            kind: string;
            /** Person */
            person?: string | null;
            /**
             * Person Name
             * @description the name now; not part of the link
             */
            person_name?: string | null;
            /** Previous */
            previous: string;
            /** Sequence */
            sequence: number;
            /** Subject */
            subject?: string | null;
        };
        /**
         * AuditVerdict
         * @description Result of checking the chain.
         */
        AuditVerdict: {
            /** Broken At */
            broken_at?: number | null;
            /**
             * Checked At
             * @description when those were checked
             */
            checked_at?: string | null;
            /**
             * Checked Before
             * @description so many first events were checked earlier, and not again now
             * @default 0
             */
            checked_before: number;
            /**
             * Detail
             * @default
             */
            detail: string;
            /** Events */
            events: number;
            /** Head */
            head: string;
            /** Intact */
            intact: boolean;
        };
        /**
         * Changes
         * @description Slots of a follow-up: a patch to an earlier plan (`exclude_add` adds, `exclude` replaces).
         */
        Changes: {
            /** Compare */
            compare?: ("size-mtime" | "checksum") | null;
            /** Deadline */
            deadline?: string | null;
            /** Delete Extraneous */
            delete_extraneous?: boolean | null;
            /** Delete Source */
            delete_source?: boolean | null;
            /** Destination */
            destination?: string | null;
            /** Encryption */
            encryption?: boolean | null;
            /** Exclude */
            exclude?: string[] | null;
            /**
             * Exclude Add
             * @default []
             */
            exclude_add: string[];
            /** Include */
            include?: string[] | null;
            /**
             * Include Add
             * @default []
             */
            include_add: string[];
            /** Max Size Bytes */
            max_size_bytes?: number | null;
            /** Min Size Bytes */
            min_size_bytes?: number | null;
            /** Modified After */
            modified_after?: string | null;
            /** Modified Before */
            modified_before?: string | null;
            /** On Conflict */
            on_conflict?: ("skip" | "overwrite" | "fail" | "newer") | null;
            /** Preserve */
            preserve?: ("timestamps" | "permissions" | "symlinks" | "xattrs")[] | null;
            /** Priority */
            priority?: ("low" | "normal" | "high") | null;
            /** Project */
            project?: string | null;
            /** Rate Limit Bps */
            rate_limit_bps?: number | null;
            /** Repeat */
            repeat?: string | null;
            /** Source */
            source?: string | null;
            /** Start */
            start?: string | null;
            /** Verify */
            verify?: ("default" | "in-transit" | "at-rest" | "blake3" | "sha256" | "sha1" | "md5" | "crc32c" | "none") | null;
            /** Window */
            window?: string[] | null;
        };
        /**
         * Choice
         * @description One answer that would settle a question.
         */
        Choice: {
            /** Label */
            label: string;
            /** Value */
            value: string;
        };
        /**
         * Confirmation
         * @description The requester's own yes (or no) to one digest; needs an interactive session, never a token.
         */
        Confirmation: {
            /** Digest */
            digest: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /**
             * Verdict
             * @default confirmed
             * @enum {string}
             */
            verdict: "confirmed" | "declined";
        };
        /**
         * ControlRequest
         * @description Steer a running transfer.
         */
        ControlRequest: {
            /**
             * Action
             * @enum {string}
             */
            action: "pause" | "resume" | "cancel" | "retry" | "set_rate" | "set_class" | "set_deadline";
            /**
             * Deadline
             * @description with `set_deadline`: null takes it away
             */
            deadline?: string | null;
            /**
             * Qos Class
             * @description with `set_class`: no higher one than policy gives
             */
            qos_class?: string | null;
            /**
             * Rate Bps
             * @description with `set_rate`: null lifts the ceiling to the plan's own
             */
            rate_bps?: number | null;
            /**
             * Reason
             * @default
             */
            reason: string;
        };
        /**
         * DecidingFact
         * @description A fact that the deciding rules look at, and what it was.
         */
        DecidingFact: {
            /** Name */
            name: string;
            /** Value */
            value: string;
        };
        /**
         * Decision
         * @description What policy says of a plan.
         */
        Decision: {
            /**
             * Alternatives
             * @description the smallest changes that the same policy decides more mildly, the mildest first
             * @default []
             */
            alternatives: components["schemas"]["Alternative"][];
            /**
             * Approvals Needed
             * @default 0
             */
            approvals_needed: number;
            /**
             * Approver Groups
             * @default []
             */
            approver_groups: string[];
            /**
             * Facts
             * @description what the deciding rules look at, as it was
             * @default []
             */
            facts: components["schemas"]["DecidingFact"][];
            /**
             * Obligations
             * @description `confirmation`, `approval:ROLE_OR_GROUP:COUNT`, or `trash:DAYSd`
             * @default []
             */
            obligations: string[];
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "allowed" | "confirm" | "approve" | "denied";
            /** Policy Version */
            policy_version: string;
            /**
             * Qos Class
             * @default bulk
             */
            qos_class: string;
            /**
             * Rules
             * @default []
             */
            rules: components["schemas"]["Rule"][];
            /** Why */
            why: string;
        };
        /**
         * Descriptors
         * @description How many files a process may have open; none said: no limit.
         */
        Descriptors: {
            /** Hard */
            hard?: number | null;
            /** Soft */
            soft?: number | null;
        };
        /**
         * DeviceAnswer
         * @description The session, once the person has signed in on another device.
         */
        DeviceAnswer: {
            session?: components["schemas"]["Session"] | null;
        };
        /**
         * DeviceQuestion
         * @description Whether the person has signed in on another device.
         */
        DeviceQuestion: {
            /** Kept */
            kept: string;
        };
        /**
         * DeviceSignIn
         * @description A sign-in on another device: open `uri` and type `user_code`, or open `whole_uri`; then ask with `kept`.
         */
        DeviceSignIn: {
            /**
             * Interval S
             * @description wait so long between two questions
             */
            interval_s: number;
            /** Kept */
            kept: string;
            /** Uri */
            uri: string;
            /** User Code */
            user_code: string;
            /** Whole Uri */
            whole_uri?: string | null;
        };
        /**
         * Diagnosis
         * @description One verdict on what limits a transfer, with its evidence and what to do.
         */
        Diagnosis: {
            /**
             * Evidence
             * @default []
             */
            evidence: components["schemas"]["Evidence"][];
            limit: components["schemas"]["Limit"];
            /**
             * Live
             * @description measured just now; else over the last attempt
             * @default false
             */
            live: boolean;
            /**
             * Measured S
             * @description how long what was measured took
             * @default 0
             */
            measured_s: number;
            /**
             * Remedy
             * @description what to do, exact settings where there are any; may be empty
             * @default []
             */
            remedy: string[];
            /**
             * Said
             * @description the verdict in a sentence
             */
            said: string;
            /**
             * Since
             * @description since when nothing moved, or it does not run
             */
            since?: string | null;
            /** Transfer */
            transfer: string;
            /**
             * Where
             * @default
             * @enum {string}
             */
            where: "source" | "destination" | "network" | "service" | "";
        };
        /**
         * EffectiveTuning
         * @description What is set for one transfer; null: nowhere, so that its nodes choose.
         */
        EffectiveTuning: {
            streams?: components["schemas"]["Tuned"] | null;
            unit_bytes?: components["schemas"]["Tuned"] | null;
        };
        /**
         * Endpoint
         * @description What people name. `online` says whether its node is attached.
         */
        Endpoint: {
            /**
             * Access
             * @enum {string}
             */
            access: "read" | "write" | "delete";
            /**
             * Aliases
             * @default []
             */
            aliases: string[];
            /**
             * Folder Labels
             * @default {}
             */
            folder_labels: {
                [key: string]: {
                    [key: string]: string;
                };
            };
            /**
             * Free At
             * @description every minute and after transfers; of a node of the release before, when it attached
             */
            free_at?: string | null;
            /**
             * Free Bytes
             * @description what was free when its node said so last (`free_at`); a plan measures anew
             */
            free_bytes?: number | null;
            /** Id */
            id: string;
            /**
             * Kind
             * @default posix
             */
            kind: string;
            /**
             * Labels
             * @default {}
             */
            labels: {
                [key: string]: string;
            };
            /** Node */
            node: string;
            /** Online */
            online: boolean;
            /** Root */
            root: string;
            /** Total Bytes */
            total_bytes?: number | null;
            /**
             * Version
             * @default
             */
            version: string;
        };
        /**
         * EndpointUpdate
         * @description Changes of an endpoint that a policy administrator may make; its root is declared on the node.
         */
        EndpointUpdate: {
            /** Aliases */
            aliases?: string[] | null;
            /** Folder Labels */
            folder_labels?: {
                [key: string]: {
                    [key: string]: string;
                };
            } | null;
            /** Id */
            id?: string | null;
            /** Labels */
            labels?: {
                [key: string]: string;
            } | null;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /** Version */
            version?: string | null;
        };
        /**
         * Entry
         * @description One name in a folder.
         */
        Entry: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "file" | "dir" | "symlink" | "other";
            /**
             * Modified
             * Format: date-time
             */
            modified: string;
            /** Name */
            name: string;
            /** Size Bytes */
            size_bytes: number;
        };
        /**
         * Estimate
         * @description How long something may take: a range that holds for about 9 of 10, and the likeliest.
         */
        Estimate: {
            /**
             * Bytes S
             * @description of the likeliest, what its bytes take
             * @default 0
             */
            bytes_s: number;
            /**
             * Deletes S
             * @description what its deletes take, after all else
             * @default 0
             */
            deletes_s: number;
            /**
             * Files S
             * @description what its files take, whatever their sizes
             * @default 0
             */
            files_s: number;
            /** High S */
            high_s: number;
            /** Likely S */
            likely_s: number;
            /** Low S */
            low_s: number;
            /**
             * Said
             * @description where it comes from
             */
            said: string;
        };
        /**
         * Evidence
         * @description One figure that a verdict stands on.
         */
        Evidence: {
            /** Name */
            name: string;
            /**
             * Unit
             * @description `%`, `b/s`, `ms`, `B`, `s`, `files/s`, or empty for a count
             */
            unit: string;
            /** Value */
            value: number;
        };
        /**
         * ExpectedEnd
         * @description When a transfer is expected to end, its hours counted; by what is measured of it, or by its plan's estimate.
         */
        ExpectedEnd: {
            /**
             * Earliest
             * Format: date-time
             */
            earliest: string;
            /**
             * Latest
             * @description null: as for `likely`, or its hours do not suffice
             */
            latest?: string | null;
            /**
             * Likely
             * @description null: when it begins or goes on is not known
             */
            likely?: string | null;
            /**
             * Said
             * @description what that depends on, where it does not run now
             * @default
             */
            said: string;
        };
        /**
         * FailedFile
         * @description A file that did not arrive, and why.
         */
        FailedFile: {
            /**
             * Advice
             * @description what to do about it, as one sentence; empty: no more than `message`
             * @default
             */
            advice: string;
            /** Error */
            error: string;
            /** Message */
            message: string;
            /** Path */
            path: string;
            /** Retry */
            retry: boolean;
        };
        /**
         * Flow
         * @description A data connection as the kernel of one end saw it last; what it does not tell is 0.
         */
        Flow: {
            /**
             * App Limited Percent
             * @description of the time: there was nothing to send
             * @default 0
             */
            app_limited_percent: number;
            /**
             * Congestion Control
             * @default
             */
            congestion_control: string;
            /**
             * Cwnd Bytes
             * @description congestion window
             * @default 0
             */
            cwnd_bytes: number;
            /**
             * Delivery Rate Bps
             * @description what the other end took when that was measured last
             * @default 0
             */
            delivery_rate_bps: number;
            /**
             * Min Rtt Us
             * @default 0
             */
            min_rtt_us: number;
            /**
             * Pacing Rate Bps
             * @description what the kernel paces it to; 0: no limit
             * @default 0
             */
            pacing_rate_bps: number;
            /**
             * Rate Bps
             * @description what went over it in the time that was measured
             * @default 0
             */
            rate_bps: number;
            /**
             * Receive Window Bytes
             * @description most that this end would allow to be on its way to it
             * @default 0
             */
            receive_window_bytes: number;
            /**
             * Reorderings
             * @default 0
             */
            reorderings: number;
            /**
             * Retransmits
             * @default 0
             */
            retransmits: number;
            /**
             * Rtt Us
             * @description round trip; of what is received, as that end estimates it
             * @default 0
             */
            rtt_us: number;
            /**
             * Rwnd Limited Percent
             * @description of the time: held back by the receive window
             * @default 0
             */
            rwnd_limited_percent: number;
            /**
             * Send Window Bytes
             * @description what the other end allows to be on its way
             * @default 0
             */
            send_window_bytes: number;
            /**
             * Sent Packets
             * @description in the time that was measured, as the counts below
             * @default 0
             */
            sent_packets: number;
            /**
             * Sndbuf Limited Percent
             * @description of the time: held back by the send buffer
             * @default 0
             */
            sndbuf_limited_percent: number;
            /**
             * Stream
             * @description its number; both ends use the same
             */
            stream: number;
        };
        /**
         * FolderPage
         * @description One page of a folder. With restricted names, it has no items, and only `count` is given.
         */
        FolderPage: {
            /** Count */
            count: number;
            /** Endpoint */
            endpoint: string;
            /** Items */
            items: components["schemas"]["Entry"][];
            /**
             * Names Withheld
             * @default false
             */
            names_withheld: boolean;
            /** Next */
            next?: string | null;
            /** Path */
            path: string;
        };
        /**
         * Given
         * @description One person's part of a need.
         */
        Given: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Expires */
            expires?: string | null;
            /** Person */
            person: string;
            /** Person Name */
            person_name: string;
        };
        /**
         * GroupBinding
         * @description What a group of an issuer gives here: roles, and groups that policies speak of.
         */
        GroupBinding: {
            /** Group */
            group: string;
            /**
             * Groups
             * @default []
             */
            groups: string[];
            /** Issuer */
            issuer: string;
            /**
             * Roles
             * @default []
             */
            roles: string[];
        };
        /**
         * GroupBindings
         * @description What groups give, and what is proposed; `changes`: whose rights the call has changed, or would change.
         *
         *     `issuers`: whose groups can give anything here.
         */
        GroupBindings: {
            /** Bindings */
            bindings: components["schemas"]["GroupBinding"][];
            /**
             * Changes
             * @default []
             */
            changes: components["schemas"]["RightsChange"][];
            /**
             * Issuers
             * @default []
             */
            issuers: components["schemas"]["IssuerHere"][];
            proposed?: components["schemas"]["GroupProposal"] | null;
        };
        /**
         * GroupBindingsRequest
         * @description Propose what all groups give; `dry_run` only answers whose rights that would change.
         */
        GroupBindingsRequest: {
            /** Bindings */
            bindings: components["schemas"]["GroupBinding"][];
            /**
             * Dry Run
             * @default false
             */
            dry_run: boolean;
        };
        /**
         * GroupProposal
         * @description What one administrator proposed that groups give, for another to publish, and whose rights that would change.
         */
        GroupProposal: {
            /** Author */
            author: string;
            /** Author Name */
            author_name: string;
            /** Bindings */
            bindings: components["schemas"]["GroupBinding"][];
            /**
             * Changes
             * @default []
             */
            changes: components["schemas"]["RightsChange"][];
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Id */
            id: string;
        };
        /**
         * GuidedRequest
         * @description The values of a need, and the text that the rules are to be added to (default: the active policy).
         */
        GuidedRequest: {
            /** Need */
            need: string;
            /** Text */
            text?: string | null;
            /**
             * Values
             * @default {}
             */
            values: {
                [key: string]: string;
            };
        };
        /**
         * GuidedRules
         * @description Cedar text to add to a policy: rules, with examples that hold beside the text that they were made for.
         */
        GuidedRules: {
            /**
             * Contradicts
             * @description examples of the text that hold no longer with these rules: change or remove them
             * @default []
             */
            contradicts: string[];
            /** Rules */
            rules: string[];
            /** Text */
            text: string;
            /**
             * Warnings
             * @description what in these rules concerns nothing that there is
             * @default []
             */
            warnings: string[];
        };
        /**
         * Halt
         * @description Something that is halted.
         */
        Halt: {
            /** At */
            at?: string | null;
            /** Id */
            id: string;
            /** Person */
            person?: string | null;
            /** Person Name */
            person_name?: string | null;
            /** Reason */
            reason: string;
            /**
             * Scope
             * @enum {string}
             */
            scope: "everything" | "transfer" | "person" | "agent" | "endpoint" | "node";
            /**
             * Subject
             * @default
             */
            subject: string;
            /**
             * Subject Name
             * @default
             */
            subject_name: string;
        };
        /**
         * HaltRequest
         * @description Halt something: what runs of it stops and waits until it is released.
         */
        HaltRequest: {
            /** Reason */
            reason: string;
            /**
             * Scope
             * @enum {string}
             */
            scope: "everything" | "transfer" | "person" | "agent" | "endpoint" | "node";
            /**
             * Subject
             * @description id or name of the transfer, person, assistant, endpoint or node; empty for everything
             * @default
             */
            subject: string;
        };
        /**
         * Health
         * @description Whether the service can work.
         */
        Health: {
            /**
             * Audit
             * @enum {string}
             */
            audit: "ok" | "unwritable";
            /**
             * Causes
             * @description why it is degraded; told to operators, administrators and auditors in person
             * @default []
             */
            causes: components["schemas"]["HealthCause"][];
            /**
             * Halted
             * @description why everything is halted, empty when it is not; strangers learn that it is, and not why
             * @default
             */
            halted: string;
            /**
             * Key
             * @description public key that signs tickets and receipts
             */
            key: string;
            /** Nodes Attached */
            nodes_attached: number;
            /**
             * Nodes Away
             * @description names of nodes that have joined and are not attached; told to whoever may list nodes
             * @default []
             */
            nodes_away: string[];
            /**
             * Status
             * @enum {string}
             */
            status: "ok" | "degraded";
            /** Version */
            version: string;
        };
        /**
         * HealthCause
         * @description One thing that is wrong.
         */
        HealthCause: {
            code: components["schemas"]["HealthCode"];
            /**
             * Sentence
             * @description what happened, and where
             */
            sentence: string;
            /** Since */
            since?: string | null;
            /** What To Do */
            what_to_do: string;
        };
        /**
         * HealthCode
         * @description What can be wrong with a service; docs/errors.md says what to do.
         * @enum {string}
         */
        HealthCode: "access_lost" | "audit_unsent" | "audit_unwritable" | "clock_differs" | "clock_doubted" | "clock_wrong" | "key_unusable" | "leavers_unseen" | "policy_differs" | "policy_unproven" | "qos_unreadable" | "sign_in_unavailable" | "store_busy" | "store_failed" | "store_full" | "work_failing" | "node_clock_skewed" | "node_refused" | "node_state_failed" | "node_strange" | "root_missing" | "roots_left_out";
        /**
         * HostInterface
         * @description A network interface, as its driver says; null is what could not be read.
         */
        HostInterface: {
            /**
             * Card
             * @description whether a device is behind it, and so a ring
             * @default false
             */
            card: boolean;
            /**
             * Max Rx Ring
             * @description and could hold
             */
            max_rx_ring?: number | null;
            /**
             * Offloads Off
             * @description which of tso, gso, gro is turned off
             */
            offloads_off?: string[] | null;
            /**
             * Rx Ring
             * @description received packets that the card's ring holds
             */
            rx_ring?: number | null;
        };
        /**
         * HostRoot
         * @description A folder that a node exports, by its file system.
         */
        HostRoot: {
            /** File System */
            file_system?: string | null;
            /**
             * Free Bytes
             * @default 0
             */
            free_bytes: number;
            /**
             * Free Inodes
             * @default 0
             */
            free_inodes: number;
            /**
             * Inodes
             * @default 0
             */
            inodes: number;
            /** Name */
            name: string;
            /**
             * Options
             * @default []
             */
            options: string[];
            /**
             * Total Bytes
             * @default 0
             */
            total_bytes: number;
        };
        /**
         * Identity
         * @description Who a person is elsewhere: `subject` at `issuer`; name and groups are as they were said there last.
         */
        Identity: {
            /**
             * Gone
             * @description since when nobody gets in with it there
             */
            gone?: string | null;
            /**
             * Groups
             * @default []
             */
            groups: string[];
            /** Issuer */
            issuer: string;
            /**
             * Name
             * @default
             */
            name: string;
            /**
             * Seen
             * @description the last sign-in there
             */
            seen?: string | null;
            /** Subject */
            subject: string;
        };
        /**
         * IdentityLink
         * @description An identity to be made a person's, or to be taken away.
         */
        IdentityLink: {
            /** Issuer */
            issuer: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /** Subject */
            subject: string;
        };
        /**
         * InterpretRequest
         * @description Words to read, or an intent to put into words: exactly one. `plan` is the handle that "it" and "last" stand for.
         *
         *     Nothing is listed or moved.
         */
        InterpretRequest: {
            intent?: components["schemas"]["TransferIntent"] | null;
            /** Plan */
            plan?: string | null;
            /** Text */
            text?: string | null;
            /**
             * Timezone
             * @description IANA zone of the person; default: the site's
             */
            timezone?: string | null;
        };
        /**
         * Interpretation
         * @description How the words were read: `slots` say it to people, and `transfer` is the typed intent.
         */
        Interpretation: {
            /** Action */
            action?: string | null;
            /** Canonical Sentence */
            canonical_sentence?: string | null;
            /**
             * Danger
             * @default []
             */
            danger: string[];
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "intent" | "ask" | "refuse";
            /**
             * Questions
             * @default []
             */
            questions: components["schemas"]["Question"][];
            /**
             * Refusals
             * @default []
             */
            refusals: components["schemas"]["Refusal"][];
            /**
             * Slots
             * @description slot -> reading, for people
             * @default {}
             */
            slots: {
                [key: string]: string;
            };
            /**
             * Spans
             * @default []
             */
            spans: components["schemas"]["Span"][];
            /** @description set when the words ask for a complete copy, sync or move */
            transfer?: components["schemas"]["TransferIntent"] | null;
        };
        /**
         * Invitation
         * @description Shown once.
         */
        Invitation: {
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Link */
            link: string;
            /** Name */
            name: string;
            /** Roles */
            roles: string[];
        };
        /**
         * InvitationLook
         * @description The token of a one-time link, whose name is asked for.
         */
        InvitationLook: {
            /** Token */
            token: string;
        };
        /**
         * InvitationRequest
         * @description Invite a person by a one-time link.
         */
        InvitationRequest: {
            /** Name */
            name: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /** Roles */
            roles: string[];
            /**
             * Valid S
             * @default 259200
             */
            valid_s: number;
        };
        /**
         * Invited
         * @description Who is invited by a one-time link.
         */
        Invited: {
            /**
             * Name
             * @description what the person signs in with; none: the first administrator chooses it
             */
            name: string | null;
        };
        /**
         * IssuerHere
         * @description A provider or directory of the service: its id (a directory's domain), and the issuer that bindings name.
         */
        IssuerHere: {
            /** Id */
            id: string;
            /** Issuer */
            issuer: string;
        };
        /**
         * JoinToken
         * @description Shown once. `commands` are the lines to run on the other host: to join, and after each restart of the host.
         */
        JoinToken: {
            /** Commands */
            commands: string[];
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Name */
            name: string;
            /**
             * Only Here
             * @description what stands against nodes on other hosts; empty: nothing
             * @default
             */
            only_here: string;
            /** Token */
            token: string;
        };
        /**
         * JoinTokenRequest
         * @description A one-time token with which one node may join.
         */
        JoinTokenRequest: {
            /** Name */
            name: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /**
             * Valid S
             * @default 3600
             */
            valid_s: number;
        };
        /**
         * KeptReason
         * @description Why a move left a source where it was, although the destination holds it.
         * @enum {string}
         */
        KeptReason: "changed" | "differs" | "unproven" | "stopped" | "failed";
        /**
         * KeptSources
         * @description Sources that a move left where they were, for one reason, as the source's node signed it.
         */
        KeptSources: {
            /** Count */
            count: number;
            /**
             * Detail
             * @description why, in the node's words, for the first of them
             */
            detail: string;
            reason: components["schemas"]["KeptReason"];
        };
        /**
         * Limit
         * @description What keeps a transfer from being faster, or from running.
         * @enum {string}
         */
        Limit: "unknown" | "not_running" | "hours" | "stalled" | "ceiling" | "share" | "names" | "file_cost" | "source_storage" | "destination_storage" | "source_cpu" | "destination_cpu" | "socket_memory" | "receive_window" | "send_buffer" | "loss" | "few_files" | "few_streams" | "path";
        /**
         * Loss
         * @description One name at the destination that a plan replaces or deletes, as it was when it was surveyed.
         */
        Loss: {
            /** Bytes */
            bytes: number;
            /**
             * How
             * @enum {string}
             */
            how: "replaced" | "deleted";
            /**
             * Kind
             * @enum {string}
             */
            kind: "file" | "dir" | "symlink";
            /**
             * Modified
             * @description last change of its content
             */
            modified?: string | null;
            /**
             * Path
             * @description below the plan's destination
             */
            path: string;
        };
        /**
         * LossPage
         * @description One page of what a plan replaces and deletes at its destination. Sources of a move are in no list.
         */
        LossPage: {
            /** Items */
            items: components["schemas"]["Loss"][];
            /**
             * Moved
             * @description source files that a move deletes, each once its copy is verified: all that the plan copies or finds there already; list them by browsing the plan's source
             * @default 0
             */
            moved: number;
            /** Next */
            next?: string | null;
        };
        /**
         * Me
         * @description Who is calling, and what that caller may do.
         */
        Me: {
            /** Agent */
            agent?: string | null;
            /**
             * Console
             * @description where people open this service in a browser; not said with a new session
             */
            console?: string | null;
            /**
             * Factors
             * @description what was shown at the sign-in, as RFC 8176 names it
             * @default []
             */
            factors: string[];
            /**
             * Groups
             * @description as policies name them
             * @default []
             */
            groups: string[];
            /** Id */
            id: string;
            /**
             * Issuer
             * @description where the session was begun, unless here
             */
            issuer?: string | null;
            /**
             * Method
             * @description `password`, `passkey`, `directory`, `oidc` or `token`
             * @default
             */
            method: string;
            /** Name */
            name: string;
            /** Roles */
            roles: string[];
            /** Scopes */
            scopes: string[];
            /** Session */
            session: boolean;
        };
        /**
         * Measured
         * @description What both nodes measured of a transfer: over the last seconds, or over its last attempt.
         */
        Measured: {
            /**
             * At
             * @description when it was measured; null: nothing was
             */
            at?: string | null;
            /**
             * @default {
             *       "flows": [],
             *       "node": "",
             *       "stages": [],
             *       "threads": 0
             *     }
             */
            destination: components["schemas"]["MeasuredSide"];
            /**
             * Live
             * @description over the last seconds; else over all of its last attempt
             * @default false
             */
            live: boolean;
            /**
             * Rate Bps
             * @description what arrived in that time
             * @default 0
             */
            rate_bps: number;
            /**
             * Seconds
             * @description over how long
             * @default 0
             */
            seconds: number;
            /**
             * @default {
             *       "flows": [],
             *       "node": "",
             *       "stages": [],
             *       "threads": 0
             *     }
             */
            source: components["schemas"]["MeasuredSide"];
            /** Transfer */
            transfer: string;
        };
        /**
         * MeasuredSide
         * @description What one node measured.
         */
        MeasuredSide: {
            /**
             * Flows
             * @default []
             */
            flows: components["schemas"]["Flow"][];
            /**
             * Node
             * @default
             */
            node: string;
            /**
             * Stages
             * @description those that took any time, in the order of the work
             * @default []
             */
            stages: components["schemas"]["Stage"][];
            /**
             * Threads
             * @description threads at work, on average
             * @default 0
             */
            threads: number;
        };
        /**
         * Need
         * @description Something that people must give before a plan may start, and how much of it counts now.
         */
        Need: {
            /**
             * By
             * @description for people: `you`, `the requester (ada)`, `2 people of the group stewards`
             */
            by: string;
            /**
             * Count
             * @default 1
             */
            count: number;
            /**
             * Given
             * @description how many count now: unexpired, for this digest, giver still entitled
             * @default 0
             */
            given: number;
            /**
             * Given By
             * @default []
             */
            given_by: components["schemas"]["Given"][];
            /**
             * Kind
             * @enum {string}
             */
            kind: "confirmation" | "approval";
            /**
             * Proof
             * @description what must come with it at least; a passkey counts for a password
             * @default session
             * @enum {string}
             */
            proof: "session" | "password" | "passkey";
            /**
             * Roles Or Groups
             * @default []
             */
            roles_or_groups: string[];
            /**
             * Until
             * @description when the first of those given expires
             */
            until?: string | null;
        };
        /**
         * NextStep
         * @description What happens next, and who does it. `you` is the caller.
         */
        NextStep: {
            /**
             * By
             * @default nobody
             * @enum {string}
             */
            by: "you" | "others" | "service" | "nobody";
            /**
             * Kind
             * @default none
             * @enum {string}
             */
            kind: "wait" | "answer" | "confirm" | "approve" | "submit" | "follow" | "plan_again" | "retry" | "resume" | "none";
            /**
             * Message
             * @default
             */
            message: string;
        };
        /**
         * Node
         * @description A mover process on a data transfer node.
         */
        Node: {
            /**
             * Accepts Connections
             * @default true
             */
            accepts_connections: boolean;
            /**
             * Data Addresses
             * @default []
             */
            data_addresses: string[];
            /**
             * Detail
             * @default
             */
            detail: string;
            /** Enrolled */
            enrolled?: string | null;
            /** Id */
            id: string;
            /** Key */
            key: string;
            /** Last Seen */
            last_seen?: string | null;
            /** Name */
            name: string;
            /**
             * Pin
             * @description SHA-256 of the key's SPKI as `sha256//...`: how other tools pin it
             * @default
             */
            pin: string;
            /**
             * Roots
             * @default []
             */
            roots: string[];
            /**
             * Running Transfers
             * @default 0
             */
            running_transfers: number;
            /**
             * State
             * @enum {string}
             */
            state: "attached" | "detached" | "draining" | "revoked";
            /**
             * Version
             * @default
             */
            version: string;
        };
        /**
         * NodeHost
         * @description What the host of a node says of itself; `headrace doctor --node` judges it.
         *
         *     `files` are of /proc and /sys, `tools` are what programs of iproute2 printed, by their words. What could not be read
         *     is in `unread`, with why.
         */
        NodeHost: {
            /** Clock Synchronised */
            clock_synchronised?: boolean | null;
            /** @default {} */
            descriptors: components["schemas"]["Descriptors"];
            /** Files */
            files: {
                [key: string]: string;
            };
            /**
             * Interfaces
             * @description all but loopback; null: the node is of a release that does not tell
             */
            interfaces?: {
                [key: string]: components["schemas"]["HostInterface"];
            } | null;
            /** Page Bytes */
            page_bytes: number;
            /**
             * Roots
             * @default []
             */
            roots: components["schemas"]["HostRoot"][];
            /** Tools */
            tools: {
                [key: string]: string;
            };
            /**
             * Unread
             * @default {}
             */
            unread: {
                [key: string]: string;
            };
            /** Usable Processors */
            usable_processors: number[];
        };
        /**
         * OpenSession
         * @description A session that is still good; nobody signs in with its id.
         */
        OpenSession: {
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Current
             * @description whether this answer was asked for with it
             * @default false
             */
            current: boolean;
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Id */
            id: string;
            /**
             * Last Used
             * Format: date-time
             */
            last_used: string;
            /**
             * Method
             * @description how it was begun: `password`, `directory`, `oidc`
             */
            method: string;
        };
        /** AuditEventPage */
        Page_AuditEvent_: {
            /** Items */
            items: components["schemas"]["AuditEvent"][];
            /** Next */
            next?: string | null;
        };
        /** EndpointPage */
        Page_Endpoint_: {
            /** Items */
            items: components["schemas"]["Endpoint"][];
            /** Next */
            next?: string | null;
        };
        /** FailedFilePage */
        Page_FailedFile_: {
            /** Items */
            items: components["schemas"]["FailedFile"][];
            /** Next */
            next?: string | null;
        };
        /** HaltPage */
        Page_Halt_: {
            /** Items */
            items: components["schemas"]["Halt"][];
            /** Next */
            next?: string | null;
        };
        /** NodePage */
        Page_Node_: {
            /** Items */
            items: components["schemas"]["Node"][];
            /** Next */
            next?: string | null;
        };
        /** OpenSessionPage */
        Page_OpenSession_: {
            /** Items */
            items: components["schemas"]["OpenSession"][];
            /** Next */
            next?: string | null;
        };
        /** PasskeyPage */
        Page_Passkey_: {
            /** Items */
            items: components["schemas"]["Passkey"][];
            /** Next */
            next?: string | null;
        };
        /** PersonPage */
        Page_Person_: {
            /** Items */
            items: components["schemas"]["Person"][];
            /** Next */
            next?: string | null;
        };
        /** PlanPage */
        Page_Plan_: {
            /** Items */
            items: components["schemas"]["Plan"][];
            /** Next */
            next?: string | null;
        };
        /** PolicyNeedPage */
        Page_PolicyNeed_: {
            /** Items */
            items: components["schemas"]["PolicyNeed"][];
            /** Next */
            next?: string | null;
        };
        /** PolicyVersionPage */
        Page_PolicyVersion_: {
            /** Items */
            items: components["schemas"]["PolicyVersion"][];
            /** Next */
            next?: string | null;
        };
        /** QosVersionPage */
        Page_QosVersion_: {
            /** Items */
            items: components["schemas"]["QosVersion"][];
            /** Next */
            next?: string | null;
        };
        /** QuotaUsePage */
        Page_QuotaUse_: {
            /** Items */
            items: components["schemas"]["QuotaUse"][];
            /** Next */
            next?: string | null;
        };
        /** TokenPage */
        Page_Token_: {
            /** Items */
            items: components["schemas"]["Token"][];
            /** Next */
            next?: string | null;
        };
        /** TransferEventPage */
        Page_TransferEvent_: {
            /** Items */
            items: components["schemas"]["TransferEvent"][];
            /** Next */
            next?: string | null;
        };
        /** TransferPage */
        Page_Transfer_: {
            /** Items */
            items: components["schemas"]["Transfer"][];
            /** Next */
            next?: string | null;
        };
        /** WhoMayPage */
        Page_WhoMay_: {
            /** Items */
            items: components["schemas"]["WhoMay"][];
            /** Next */
            next?: string | null;
        };
        /**
         * Passkey
         * @description A passkey of a person, who gave it its name.
         */
        Passkey: {
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Id */
            id: string;
            /** Last Used */
            last_used?: string | null;
            /** Name */
            name: string;
        };
        /**
         * PasskeyAnswer
         * @description What `navigator.credentials.get` gave for a challenge, its bytes in base64url.
         */
        PasskeyAnswer: {
            /** Authenticator Data */
            authenticator_data: string;
            /** Client Data */
            client_data: string;
            /** Id */
            id: string;
            /** Kept */
            kept: string;
            /** Signature */
            signature: string;
        };
        /**
         * PasskeyChallenge
         * @description What a passkey signs, for one of `passkeys` (none named: for any); `kept` comes back with the answer.
         *
         *     `party` is the relying party's id; passkeys work at `origin` and nowhere else.
         */
        PasskeyChallenge: {
            /** Challenge */
            challenge: string;
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Kept */
            kept: string;
            /** Origin */
            origin: string;
            /** Party */
            party: string;
            /**
             * Passkeys
             * @default []
             */
            passkeys: string[];
        };
        /**
         * PasskeyRequest
         * @description What `navigator.credentials.create` gave for a challenge, its bytes in base64url, and a name for the passkey.
         */
        PasskeyRequest: {
            /** Attestation Object */
            attestation_object: string;
            /** Client Data */
            client_data: string;
            /** Id */
            id: string;
            /** Kept */
            kept: string;
            /** Name */
            name: string;
        };
        /**
         * PasswordChange
         * @description One's password, and the one to replace it.
         */
        PasswordChange: {
            /**
             * New Password
             * @description 12 to 1,000 characters, at least 5 different ones, without the person's name, not easy to guess; a refusal says all that is wrong
             */
            new_password: string;
            /** Password */
            password: string;
        };
        /**
         * Person
         * @description A person or service account: `roles` and `groups` are what counts, granted or given by identities' groups.
         */
        Person: {
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Granted Groups
             * @default []
             */
            granted_groups: string[];
            /**
             * Granted Roles
             * @default []
             */
            granted_roles: string[];
            /**
             * Groups
             * @default []
             */
            groups: string[];
            /** Id */
            id: string;
            /**
             * Identities
             * @default []
             */
            identities: components["schemas"]["Identity"][];
            /**
             * Kind
             * @default person
             * @enum {string}
             */
            kind: "person" | "service";
            /** Name */
            name: string;
            /** Roles */
            roles: string[];
            /**
             * State
             * @enum {string}
             */
            state: "invited" | "active" | "suspended" | "disabled";
        };
        /**
         * PersonUpdate
         * @description Replace what is granted to a person; what is left out stays.
         */
        PersonUpdate: {
            /** Groups */
            groups?: string[] | null;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /** Roles */
            roles?: string[] | null;
        };
        /**
         * Plan
         * @description A plan as people see it: the card and its state.
         */
        Plan: {
            /** Agent */
            agent?: string | null;
            /**
             * Allowed Actions
             * @default []
             */
            allowed_actions: components["schemas"]["AllowedAction"][];
            /**
             * Approvals
             * @default []
             */
            approvals: components["schemas"]["ApprovalView"][];
            /** Canonical Sentence */
            canonical_sentence?: string | null;
            /**
             * Confirmed
             * @default false
             */
            confirmed: boolean;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Danger
             * @default []
             */
            danger: string[];
            decision?: components["schemas"]["Decision"] | null;
            /** Digest */
            digest?: string | null;
            /**
             * Document
             * @description the sealed document, when asked for with `?document=true`
             */
            document?: string | null;
            /** @description that as a range, and where it comes from */
            estimate?: components["schemas"]["Estimate"] | null;
            /**
             * Eta S
             * @description how long it may take, from what was moved there before
             */
            eta_s?: number | null;
            /** Expires */
            expires?: string | null;
            /** @description hours in which alone it runs */
            hours?: components["schemas"]["RunHours"] | null;
            /** Id */
            id: string;
            intent?: components["schemas"]["PlannedIntent"] | null;
            /**
             * Names Withheld
             * @description names were left out: a folder is restricted for agents
             * @default false
             */
            names_withheld: boolean;
            /**
             * Needs
             * @default []
             */
            needs: components["schemas"]["Need"][];
            /**
             * @default {
             *       "by": "nobody",
             *       "kind": "none",
             *       "message": ""
             *     }
             */
            next_step: components["schemas"]["NextStep"];
            /**
             * Notes
             * @description what this kind of plan does to identical, different, excluded and moved files
             * @default []
             */
            notes: string[];
            /**
             * Origins
             * @description where each slot of the intent comes from; none in plans of earlier versions
             * @default []
             */
            origins: components["schemas"]["SlotOrigin"][];
            /** @description set: it only measures, in legs of at most this */
            probe?: components["schemas"]["ProbeBounds"] | null;
            /** @description its class, links and hours */
            quality?: components["schemas"]["PlannedQuality"] | null;
            /**
             * Questions
             * @default []
             */
            questions: components["schemas"]["Question"][];
            /**
             * Quotas
             * @description of whom and what it concerns, this plan not included
             * @default []
             */
            quotas: components["schemas"]["QuotaUse"][];
            /**
             * Refusals
             * @default []
             */
            refusals: components["schemas"]["Refusal"][];
            /** Requester */
            requester: string;
            /** Requester Name */
            requester_name?: string | null;
            /**
             * Starts
             * @description when it starts at the earliest, if not at once
             */
            starts?: string | null;
            state: components["schemas"]["PlanState"];
            /**
             * State Reason
             * @description why it can't start any more: declined, refused, dropped, too old, denied
             * @default
             */
            state_reason: string;
            /**
             * Summary
             * @description one paragraph fit to be read aloud
             * @default
             */
            summary: string;
            survey?: components["schemas"]["SurveyCounts"] | null;
            /**
             * Surveyed Entries
             * @default 0
             */
            surveyed_entries: number;
            /** Transfer */
            transfer?: string | null;
            /** Transfer Ended */
            transfer_ended?: string | null;
            transfer_state?: components["schemas"]["TransferState"] | null;
            /**
             * @description streams and units that are set for it, and at which level
             * @default {}
             */
            tuning: components["schemas"]["EffectiveTuning"];
            /**
             * Warnings
             * @description what will not come about although the plan may start
             * @default []
             */
            warnings: string[];
            /** Words */
            words?: string | null;
        };
        /**
         * PlanCounts
         * @description How many plans wait for the caller.
         */
        PlanCounts: {
            /**
             * Awaiting Me
             * @description others' plans that wait for the caller's approval
             */
            awaiting_me: number;
            /**
             * Mine Open
             * @description the caller's own plans that can still start or that ask something
             */
            mine_open: number;
        };
        /**
         * PlanRequest
         * @description `words`, `intent`, or both; or, to change an earlier plan, `plan` with `words`, `changes`, or both.
         *
         *     Where words and typed slots come together, they must agree: what they say differently, what only the words say, and
         *     words that are not understood are questions. Slots that the words do not carry are marked as added.
         *     `answers` names the plan whose questions this request answers; that plan is dropped.
         */
        PlanRequest: {
            /** Answers */
            answers?: string | null;
            changes?: components["schemas"]["Changes"] | null;
            intent?: components["schemas"]["TransferIntent"] | null;
            /** Plan */
            plan?: string | null;
            /** @description only measure, with an `intent` that copies: its places, ceiling and priority count */
            probe?: components["schemas"]["ProbeBounds"] | null;
            /**
             * Project
             * @description the project that it is for, which words can't say: as `project` of the intent or the changes; of a change or an answer, null keeps what the earlier plan has
             */
            project?: string | null;
            /** Timezone */
            timezone?: string | null;
            /** @description what is set for this transfer; of a change or an answer, null keeps what the earlier plan has */
            tuning?: components["schemas"]["Tuning"] | null;
            /** Words */
            words?: string | null;
        };
        /**
         * PlanState
         * @description Where planning stands: surveying -> ready | ask | denied | failed; ready | ask -> expired | dropped.
         * @enum {string}
         */
        PlanState: "surveying" | "ready" | "ask" | "denied" | "failed" | "expired" | "dropped";
        /**
         * PlannedIntent
         * @description What a plan was made for: read without today's limits, so that plans of earlier versions stay readable.
         */
        PlannedIntent: {
            /**
             * Action
             * @enum {string}
             */
            action: "copy" | "sync" | "move";
            /**
             * Compare
             * @description when two files count as the same
             * @default size-mtime
             * @enum {string}
             */
            compare: "size-mtime" | "checksum";
            /** Deadline */
            deadline?: string | null;
            /**
             * Delete Extraneous
             * @description whether a sync deletes what the source does not hold
             * @default false
             */
            delete_extraneous: boolean;
            /**
             * Destination
             * @description `endpoint:/path`; a trailing slash means 'into this folder'
             */
            destination: string;
            /**
             * Encryption
             * @description whether the bytes are encrypted on their way
             * @default true
             */
            encryption: boolean;
            /**
             * Exclude
             * @default []
             */
            exclude: string[];
            /**
             * Include
             * @default []
             */
            include: string[];
            /** Max Size Bytes */
            max_size_bytes?: number | null;
            /** Min Size Bytes */
            min_size_bytes?: number | null;
            /** Modified After */
            modified_after?: string | null;
            /** Modified Before */
            modified_before?: string | null;
            /**
             * On Conflict
             * @description files that differ at the destination; default: a sync overwrites them, else `fail`
             */
            on_conflict?: ("skip" | "overwrite" | "fail" | "newer") | null;
            /**
             * Preserve
             * @default [
             *       "timestamps",
             *       "permissions",
             *       "symlinks"
             *     ]
             */
            preserve: ("timestamps" | "permissions" | "symlinks" | "xattrs")[];
            /**
             * Priority
             * @description whose turn comes first
             * @default normal
             * @enum {string}
             */
            priority: "low" | "normal" | "high";
            /** Project */
            project?: string | null;
            /** Rate Limit Bps */
            rate_limit_bps?: number | null;
            /** Repeat */
            repeat?: string | null;
            /**
             * Source
             * @description `endpoint:/path`
             */
            source: string;
            /** Start */
            start?: string | null;
            /**
             * Verify
             * @description how what arrives is verified; default: a move at rest, else in transit
             * @default default
             * @enum {string}
             */
            verify: "default" | "in-transit" | "at-rest" | "blake3" | "sha256" | "sha1" | "md5" | "crc32c" | "none";
            /** Window */
            window?: string[] | null;
        };
        /**
         * PlannedQuality
         * @description Of which class a plan is.
         */
        PlannedQuality: {
            /**
             * Calendar
             * @description in whose hours alone its class runs
             */
            calendar?: string | null;
            /**
             * Links
             * @description that it would take now
             * @default []
             */
            links: string[];
            /**
             * Opens
             * @description when these are open first; never, if null
             */
            opens?: string | null;
            /** Qos Class */
            qos_class: string;
            /**
             * Why
             * @description which rule gives the class, or why it is a lower one
             */
            why: string;
        };
        /**
         * PolicyCheck
         * @description Whether a policy text could be published.
         */
        PolicyCheck: {
            /**
             * Examples
             * @description those of the text, each run; none if it can't be read
             * @default []
             */
            examples: components["schemas"]["PolicyExample"][];
            /**
             * Problems
             * @default []
             */
            problems: components["schemas"]["PolicyProblem"][];
            /**
             * Rules
             * @default []
             */
            rules: components["schemas"]["Rule"][];
            /**
             * Suggested
             * @description for rules about places that no example shows
             * @default []
             */
            suggested: components["schemas"]["PolicySuggestion"][];
            /** Valid */
            valid: boolean;
        };
        /**
         * PolicyExample
         * @description One example of a policy text, and what is wrong with it; nothing when it holds.
         */
        PolicyExample: {
            /** Failure */
            failure?: string | null;
            /** Line */
            line: string;
        };
        /**
         * PolicyFlip
         * @description A stored decision that another policy would change.
         */
        PolicyFlip: {
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Now
             * @enum {string}
             */
            now: "allowed" | "confirm" | "approve" | "denied";
            /**
             * Only Listed
             * @description whether `now` says only that its places may be listed; the transfer was not decided
             * @default false
             */
            only_listed: boolean;
            /** Plan */
            plan: string;
            /** Requester Name */
            requester_name?: string | null;
            /**
             * Sentence
             * @description what was asked; empty for assistants
             * @default
             */
            sentence: string;
            /**
             * Was
             * @enum {string}
             */
            was: "allowed" | "confirm" | "approve" | "denied";
            /** Why */
            why: string;
        };
        /**
         * PolicyNeed
         * @description Something that sites need, for which rules can be made from a few values.
         */
        PolicyNeed: {
            /**
             * Asks
             * @default []
             */
            asks: components["schemas"]["AskedValue"][];
            /** Name */
            name: string;
            /** Title */
            title: string;
        };
        /**
         * PolicyProblem
         * @description One thing wrong with a policy text.
         */
        PolicyProblem: {
            /** End */
            end?: number | null;
            /** Message */
            message: string;
            /** Rule */
            rule?: string | null;
            /**
             * Severity
             * @default error
             * @enum {string}
             */
            severity: "error" | "warning";
            /** Start */
            start?: number | null;
        };
        /**
         * PolicySimulation
         * @description What a policy text would have said of the newest plans.
         */
        PolicySimulation: {
            /** Flipped */
            flipped: number;
            /**
             * Flips
             * @description the newest 200 of them
             * @default []
             */
            flips: components["schemas"]["PolicyFlip"][];
            /**
             * Only Listed
             * @description those of them that may now be listed; of the transfer itself nothing was decided
             * @default 0
             */
            only_listed: number;
            /** Replayed */
            replayed: number;
        };
        /**
         * PolicySuggestion
         * @description A rule about places that no example shows to hold, and example lines that would; none if none was found.
         */
        PolicySuggestion: {
            /**
             * Lines
             * @default []
             */
            lines: string[];
            /** Rule */
            rule: string;
        };
        /**
         * PolicyText
         * @description Cedar text and the examples that must hold before it may be published.
         */
        PolicyText: {
            /**
             * Note
             * @default
             */
            note: string;
            /** Text */
            text: string;
        };
        /**
         * PolicyVersion
         * @description One version of the site's policy.
         */
        PolicyVersion: {
            /**
             * Against
             * @description why nobody may publish a proposal as it is, and what to do; empty: a second person may
             * @default
             */
            against: string;
            /** Author */
            author: string;
            /** Author Name */
            author_name?: string | null;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Note
             * @default
             */
            note: string;
            /** Published */
            published?: string | null;
            /** Publisher */
            publisher?: string | null;
            /** Publisher Name */
            publisher_name?: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "proposed" | "active" | "retired" | "withdrawn";
            /** Text */
            text: string;
            /** Version */
            version: string;
        };
        /**
         * ProbeBounds
         * @description How much a leg of a probe may move, and for how long; four legs come one after the other.
         */
        ProbeBounds: {
            /**
             * Max Bytes
             * @description bytes of a leg, at its source and at its destination
             * @default 4294967296
             */
            max_bytes: number;
            /**
             * Max Seconds
             * @description time of a leg, from its first byte
             * @default 10
             */
            max_seconds: number;
        };
        /**
         * ProbeLeg
         * @description What a leg measured. At the destination nothing that it wrote is left.
         */
        ProbeLeg: {
            /**
             * Bytes
             * @description what arrived and, at a storage, was made durable
             * @default 0
             */
            bytes: number;
            /** @description what limited it */
            diagnosis?: components["schemas"]["Diagnosis"] | null;
            /**
             * Error
             * @default
             */
            error: string;
            /**
             * Files
             * @description files that it moved, also when it failed; quotas count them
             * @default 0
             */
            files: number;
            /**
             * Name
             * @enum {string}
             */
            name: "memory_to_memory" | "storage_to_memory" | "memory_to_storage" | "storage_to_storage";
            /**
             * Rate Bps
             * @description null: it could not be measured, for the reason in `error`
             */
            rate_bps?: number | null;
            /**
             * Seconds
             * @default 0
             */
            seconds: number;
        };
        /**
         * Probed
         * @description What a probe has measured so far, and which stage is the tightest; no legs: the transfer is no probe.
         */
        Probed: {
            bounds?: components["schemas"]["ProbeBounds"] | null;
            /**
             * Evidence
             * @default []
             */
            evidence: components["schemas"]["Evidence"][];
            /**
             * Legs
             * @default []
             */
            legs: components["schemas"]["ProbeLeg"][];
            /**
             * Remedy
             * @description what helps, of the leg that shows the tightest stage
             * @default []
             */
            remedy: string[];
            /**
             * Running
             * @description the leg that is measured now
             */
            running?: ("memory_to_memory" | "storage_to_memory" | "memory_to_storage" | "storage_to_storage") | null;
            /**
             * Said
             * @description where the difference goes, in a sentence
             * @default
             */
            said: string;
            /** State */
            state: string;
            /**
             * Tightest
             * @description `way`: network and processors; empty: not known
             * @default
             * @enum {string}
             */
            tightest: "way" | "source_storage" | "destination_storage" | "together" | "";
            /** Transfer */
            transfer: string;
        };
        /**
         * Problem
         * @description RFC 9457 problem document. `code` is stable and listed in docs/errors.md.
         */
        Problem: {
            /** Code */
            code: string;
            /** Detail */
            detail: string;
            /**
             * Fields
             * @default []
             */
            fields: string[];
            /** Instance */
            instance?: string | null;
            /** @description with `proof_needed`: what is wanted */
            proof?: components["schemas"]["ProofWanted"] | null;
            /** Status */
            status: number;
            /** Title */
            title: string;
            /**
             * Type
             * @default about:blank
             */
            type: string;
        };
        /**
         * Progress
         * @description Durable counts are what is safe at the destination; received counts are ahead of them.
         *
         *     Of a canceled transfer, only files that are complete stay: `bytes_durable` counts what others had received, too.
         */
        Progress: {
            /** At */
            at?: string | null;
            /**
             * Average Bps
             * @description durable bits over the time that its attempts took
             */
            average_bps?: number | null;
            /**
             * Bytes Durable
             * @default 0
             */
            bytes_durable: number;
            /**
             * Bytes Failed
             * @description bytes of the files that did not arrive
             * @default 0
             */
            bytes_failed: number;
            /**
             * Bytes Received
             * @default 0
             */
            bytes_received: number;
            /**
             * Bytes Total
             * @description as for `files_total`
             * @default 0
             */
            bytes_total: number;
            /**
             * Deleted
             * @description files and folders that a sync deleted at its destination, or moved to the trash there; so far, while it runs
             * @default 0
             */
            deleted: number;
            /**
             * Deleted To Trash
             * @description what was deleted lies in the trash; its receipt says where
             * @default false
             */
            deleted_to_trash: boolean;
            /**
             * Deletes Total
             * @description files and folders that a running sync is to delete at its destination, after all else
             * @default 0
             */
            deletes_total: number;
            /**
             * Eta High S
             * @description the most
             */
            eta_high_s?: number | null;
            /**
             * Eta Low S
             * @description the least that this may be
             */
            eta_low_s?: number | null;
            /**
             * Eta S
             * @description how long it still takes, by what is measured of it; deletes count from when they begin
             */
            eta_s?: number | null;
            /**
             * Files Done
             * @default 0
             */
            files_done: number;
            /**
             * Files Failed
             * @default 0
             */
            files_failed: number;
            /**
             * Files Failed For Good
             * @description of the files that failed, those for which a retry alone does not help
             * @default 0
             */
            files_failed_for_good: number;
            /**
             * Files Identical
             * @description of the files done, those that were there already, the same
             * @default 0
             */
            files_identical: number;
            /**
             * Files Total
             * @description while its source is still being listed: what its plan's survey counted, or what is more than that
             * @default 0
             */
            files_total: number;
            /**
             * Identical By
             * @description how those are known to be the same: by size and time, and they were not read, or by checksum; missing where this is not known yet
             */
            identical_by?: ("size-mtime" | "checksum") | null;
            /**
             * Limiter
             * @default
             */
            limiter: string;
            /**
             * Rate Bps
             * @default 0
             */
            rate_bps: number;
            /**
             * Resent Bytes
             * @default 0
             */
            resent_bytes: number;
            /** @description what it gets of links, where it runs over any */
            share?: components["schemas"]["TransferShare"] | null;
            /**
             * Sources Deleted
             * @description sources of a move that have arrived and were deleted, or moved to the trash there; while it runs, those of this attempt so far
             * @default 0
             */
            sources_deleted: number;
            /**
             * Sources Kept
             * @description of the sources of a move that have arrived, those that stay; its receipt says why
             * @default 0
             */
            sources_kept: number;
            /**
             * Streams
             * @default 0
             */
            streams: number;
        };
        /**
         * ProofWanted
         * @description How a person can prove to mean this very request: repeat it with one of these.
         */
        ProofWanted: {
            passkey?: components["schemas"]["PasskeyChallenge"] | null;
            provider?: components["schemas"]["ProviderChallenge"] | null;
            /** Ways */
            ways: ("password" | "passkey" | "provider")[];
        };
        /**
         * Proven
         * @description What a site may want proof for that a person means it: one proof, made for this and nothing else.
         */
        Proven: {
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
        };
        /**
         * Provider
         * @description A provider at which people may sign in: `id` is how the API calls it, `name` is what people read.
         */
        Provider: {
            /**
             * Device
             * @description whether people may sign in there on another device
             * @default false
             */
            device: boolean;
            /** Id */
            id: string;
            /** Name */
            name: string;
        };
        /**
         * ProviderChallenge
         * @description At which provider a person signs in anew as a proof, in the browser at `origin` that has their session.
         *
         *     The browser goes to `/api/v1/sign-in/{provider}?proof={kept}` and ends at `/proven?id={id}#answer`; `name` is what
         *     people call the provider.
         */
        ProviderChallenge: {
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Id */
            id: string;
            /** Kept */
            kept: string;
            /** Name */
            name: string;
            /** Origin */
            origin: string;
            /** Provider */
            provider: string;
        };
        /**
         * Qos
         * @description What is in force, and what transfers get by it now.
         */
        Qos: {
            /**
             * Calendars Open
             * @description whether each calendar is open now
             * @default {}
             */
            calendars_open: {
                [key: string]: boolean;
            };
            document: components["schemas"]["QosDocument"];
            /**
             * Given By
             * @description by class: the rules of the policy in force that give it
             * @default {}
             */
            given_by: {
                [key: string]: components["schemas"]["Rule"][];
            };
            /** Published */
            published?: string | null;
            /**
             * Unknown Nodes
             * @description names in links of nodes that there are no more
             * @default []
             */
            unknown_nodes: string[];
            /**
             * Use
             * @default []
             */
            use: components["schemas"]["QosLinkUse"][];
            /** Version */
            version: string;
        };
        /**
         * QosCalendar
         * @description When something is open.
         */
        QosCalendar: {
            /**
             * Closed
             * @description days on which no hours begin
             * @default []
             */
            closed: string[];
            /**
             * Hours
             * @default []
             */
            hours: components["schemas"]["QosHours"][];
            /** Name */
            name: string;
            /**
             * Zone
             * @default UTC
             */
            zone: string;
        };
        /**
         * QosCheck
         * @description Whether a text could be published.
         */
        QosCheck: {
            document?: components["schemas"]["QosDocument"] | null;
            /**
             * Problems
             * @default []
             */
            problems: components["schemas"]["QosProblem"][];
            /** Valid */
            valid: boolean;
            /**
             * Warnings
             * @description deadlines that can be kept now, and could not be then
             * @default []
             */
            warnings: components["schemas"]["QosProblem"][];
        };
        /**
         * QosClass
         * @description A class of transfers.
         */
        QosClass: {
            /**
             * Calendar
             * @description in whose hours alone its transfers run
             */
            calendar?: string | null;
            /** Congestion Control */
            congestion_control?: string | null;
            /**
             * Dscp
             * @description mark of its packets
             */
            dscp?: number | null;
            /**
             * Links
             * @default []
             */
            links: components["schemas"]["QosClassLink"][];
            /** Name */
            name: string;
            /**
             * Priority
             * @description higher goes first
             * @default 0
             */
            priority: number;
            /**
             * Weight
             * @default 10
             */
            weight: number;
        };
        /**
         * QosClassLink
         * @description What a class has on one link.
         */
        QosClassLink: {
            /** Ceiling Bps */
            ceiling_bps?: number | null;
            /**
             * Floor Bps
             * @description what it gets before others share, while it wants it
             * @default 0
             */
            floor_bps: number;
            /** Link */
            link: string;
        };
        /**
         * QosDocument
         * @description The links, classes and calendars of a site. Of two classes, the one that stands first is the lower.
         */
        QosDocument: {
            /**
             * Calendars
             * @default []
             */
            calendars: components["schemas"]["QosCalendar"][];
            /**
             * Classes
             * @default []
             */
            classes: components["schemas"]["QosClass"][];
            /**
             * Links
             * @default []
             */
            links: components["schemas"]["QosLink"][];
            /**
             * Pairs
             * @default []
             */
            pairs: components["schemas"]["QosPair"][];
            /** @default {} */
            tuning: components["schemas"]["Tuning"];
        };
        /**
         * QosHours
         * @description Hours of some days of the week; over midnight when they close earlier than they open.
         */
        QosHours: {
            /**
             * Closes
             * @default 24:00
             */
            closes: string;
            /** Days */
            days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
            /**
             * Opens
             * @default 00:00
             */
            opens: string;
        };
        /**
         * QosLink
         * @description A bottleneck of the network at a set of nodes, such as a site's uplink; its rate holds for each direction.
         */
        QosLink: {
            /** Name */
            name: string;
            /**
             * Nodes
             * @description nodes behind it, by name
             */
            nodes: string[];
            /**
             * Peers
             * @description nodes that are reached over it; none: every node that is not behind it
             * @default []
             */
            peers: string[];
            /**
             * Rate Bps
             * @description its capacity; null: no cap, and nothing is shared there
             */
            rate_bps?: number | null;
            /**
             * Rest Percent
             * @description what lower priorities keep of it, whatever higher ones want
             * @default 10
             */
            rest_percent: number;
        };
        /**
         * QosLinkUse
         * @description What runs over a link now in one direction, seen from the nodes behind it.
         */
        QosLinkUse: {
            /** Link */
            link: string;
            /**
             * Transfers
             * @default []
             */
            transfers: components["schemas"]["TransferShare"][];
            /**
             * Way
             * @default out
             * @enum {string}
             */
            way: "out" | "in";
        };
        /**
         * QosPair
         * @description What is set for transfers from one endpoint to another.
         */
        QosPair: {
            /** Destination */
            destination: string;
            /** Source */
            source: string;
            /**
             * Streams
             * @description data connections; null at every level: as many as help
             */
            streams?: number | null;
            /**
             * Unit Bytes
             * @description into pieces of how much large files are cut, a power of two; null at every level: 4 MiB
             */
            unit_bytes?: number | null;
        };
        /**
         * QosProblem
         * @description One thing wrong with a text: where, what, and what to do.
         */
        QosProblem: {
            /** Message */
            message: string;
            /**
             * Where
             * @description such as `class bulk: weight`; empty for the whole text
             */
            where: string;
        };
        /**
         * QosText
         * @description Links, classes and calendars as TOML.
         */
        QosText: {
            /**
             * Note
             * @default
             */
            note: string;
            /** Text */
            text: string;
        };
        /**
         * QosVersion
         * @description One version of the site's links, classes and calendars; `text` is TOML.
         */
        QosVersion: {
            /**
             * Against
             * @description why nobody may publish a proposal as it is, and what to do; empty: a second person may
             * @default
             */
            against: string;
            /** Author */
            author: string;
            /** Author Name */
            author_name?: string | null;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            document: components["schemas"]["QosDocument"];
            /**
             * Note
             * @default
             */
            note: string;
            /** Published */
            published?: string | null;
            /** Publisher */
            publisher?: string | null;
            /** Publisher Name */
            publisher_name?: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "proposed" | "active" | "retired" | "withdrawn";
            /** Text */
            text: string;
            /** Version */
            version: string;
        };
        /**
         * Question
         * @description Something that was not understood, is missing, or has several readings.
         */
        Question: {
            /**
             * Choices
             * @default []
             */
            choices: components["schemas"]["Choice"][];
            /** End */
            end?: number | null;
            /** Message */
            message: string;
            /** Slot */
            slot: string;
            /** Start */
            start?: number | null;
            /** Words */
            words?: string | null;
        };
        /**
         * QuotaUse
         * @description How much of a quota is used, in the site's day or at this moment; a limit that is null is none.
         */
        QuotaUse: {
            /** Bytes A Day */
            bytes_a_day?: number | null;
            /**
             * Bytes Used
             * @default 0
             */
            bytes_used: number;
            /** Files A Day */
            files_a_day?: number | null;
            /**
             * Files Used
             * @default 0
             */
            files_used: number;
            /**
             * Of
             * @enum {string}
             */
            of: "person" | "group" | "agent" | "project" | "endpoint" | "destination";
            /**
             * Renews
             * Format: date-time
             * @description when the next day begins
             */
            renews: string;
            /**
             * Subject
             * @description whose it is: a person by id, a place as `endpoint:/path`
             */
            subject: string;
            /**
             * Transfers
             * @description transfers that may be under way at once
             */
            transfers?: number | null;
            /**
             * Transfers Used
             * @default 0
             */
            transfers_used: number;
        };
        /**
         * Quote
         * @description A stretch of a request; offsets count code points.
         */
        Quote: {
            /** End */
            end: number;
            /** Start */
            start: number;
            /** Text */
            text: string;
        };
        /**
         * Receipt
         * @description The signed proof of a finished transfer.
         */
        Receipt: {
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Document */
            document: string;
            /**
             * Earlier
             * @description ids of the receipts of earlier attempts, the oldest first, where this one and its list of files hold only the files that a retry sent: those that had arrived before are in these
             * @default []
             */
            earlier: string[];
            /** Id */
            id: string;
            /**
             * Key
             * @description the key of this service that signed the document; empty: no key that it has or had did
             * @default
             */
            key: string;
            /**
             * Key Replaced
             * @description whether that key was replaced by another one since
             * @default false
             */
            key_replaced: boolean;
            /** Plan Digest */
            plan_digest: string;
            /**
             * Sources Kept
             * @description sources of a move that have arrived and stay; the signed document names the first 100
             * @default []
             */
            sources_kept: components["schemas"]["KeptSources"][];
            /**
             * Summary
             * @default
             */
            summary: string;
            /** Transfer */
            transfer: string;
        };
        /**
         * Refusal
         * @description A rule that stopped the request, and the words that met it.
         */
        Refusal: {
            /** Message */
            message: string;
            /** Rule */
            rule: string;
            /**
             * Words
             * @default
             */
            words: string;
        };
        /**
         * RightsChange
         * @description A person whose roles or groups a change of bindings changes.
         */
        RightsChange: {
            /** Groups */
            groups: string[];
            /** Groups Before */
            groups_before: string[];
            /** Name */
            name: string;
            /** Person */
            person: string;
            /** Roles */
            roles: string[];
            /** Roles Before */
            roles_before: string[];
        };
        /**
         * RotationRequest
         * @description A one-time token with which a node that has joined takes another key.
         */
        RotationRequest: {
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /**
             * Valid S
             * @default 3600
             */
            valid_s: number;
        };
        /**
         * Rule
         * @description A policy rule that took part in a decision.
         */
        Rule: {
            /** Id */
            id: string;
            /** Reason */
            reason: string;
        };
        /**
         * RunHours
         * @description Hours of each day in which alone a transfer runs; over midnight when it closes earlier than it opens.
         */
        RunHours: {
            /**
             * Closes
             * @description `05:00`; not part of the hours
             */
            closes: string;
            /**
             * Opens
             * @description `22:00`
             */
            opens: string;
            /**
             * Zone
             * @description IANA zone of these times
             */
            zone: string;
        };
        /**
         * ServiceAccountRequest
         * @description Make an account that owns tokens of pipelines and never signs in.
         */
        ServiceAccountRequest: {
            /** Name */
            name: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /** Roles */
            roles: string[];
        };
        /**
         * Session
         * @description An interactive session; `secret` is shown once (browsers get it as a cookie instead).
         */
        Session: {
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            me: components["schemas"]["Me"];
            /** Secret */
            secret: string;
        };
        /**
         * SignIn
         * @description A local person's name and password.
         */
        SignIn: {
            /** Name */
            name: string;
            /** Password */
            password: string;
        };
        /**
         * SignInWays
         * @description How people sign in here, beside a local name and password.
         */
        SignInWays: {
            /**
             * Directory
             * @description whether people sign in with the name and password of a directory: name@domain or DOMAIN\name
             * @default false
             */
            directory: boolean;
            /**
             * Passkeys
             * @description the origin at which passkeys work; none: nowhere
             */
            passkeys?: string | null;
            /**
             * Providers
             * @default []
             */
            providers: components["schemas"]["Provider"][];
        };
        /**
         * SignedOut
         * @description A session has ended here; `elsewhere` is where a browser ends the one at its provider, if it has one.
         */
        SignedOut: {
            /** Elsewhere */
            elsewhere?: string | null;
        };
        /**
         * SlotOrigin
         * @description Where the value of one slot of a plan comes from.
         */
        SlotOrigin: {
            /**
             * Origin
             * @enum {string}
             */
            origin: "said" | "typed" | "assumed" | "assistant" | "model";
            /**
             * Plan
             * @description the earlier plan whose request holds these words
             */
            plan?: string | null;
            /**
             * Slot
             * @description a field of the intent, or `delete_source`
             */
            slot: string;
            /**
             * Words
             * @description the words that carry it
             * @default []
             */
            words: components["schemas"]["Quote"][];
        };
        /**
         * Span
         * @description Which words became what; offsets count code points of the person's text.
         */
        Span: {
            /** End */
            end: number;
            /** Reading */
            reading: string;
            /** Slot */
            slot: string;
            /** Start */
            start: number;
            /** Text */
            text: string;
        };
        /**
         * Stage
         * @description A stage of the work of one node.
         */
        Stage: {
            /**
             * Busy Percent
             * @description of the time that this node's threads spent in all stages
             */
            busy_percent: number;
            /**
             * Capacity Bps
             * @description what the same threads would carry if this stage were all they did
             */
            capacity_bps?: number | null;
            /**
             * Name
             * @enum {string}
             */
            name: "read" | "hash" | "send" | "receive" | "verify" | "write" | "commit" | "ceiling" | "share" | "delete";
            /**
             * Threads
             * @description threads that were in it, on average
             */
            threads: number;
        };
        /**
         * SubmitRequest
         * @description Run one sealed plan, named by its digest.
         */
        SubmitRequest: {
            /** Plan Digest */
            plan_digest: string;
        };
        /**
         * SurveyCounts
         * @description What the plan would touch.
         */
        SurveyCounts: {
            /** Bytes */
            bytes: number;
            /** Conflicts */
            conflicts: number;
            /**
             * Conflicts Sample
             * @default []
             */
            conflicts_sample: string[];
            /** Deleted Bytes */
            deleted_bytes: number;
            /** Deletes */
            deletes: number;
            /**
             * Deletes Sample
             * @default []
             */
            deletes_sample: string[];
            /** Destination Free Bytes */
            destination_free_bytes: number;
            /** Directories */
            directories: number;
            /** Excluded Files */
            excluded_files: number;
            /** Files */
            files: number;
            /** Identical Files */
            identical_files: number;
            /** Overwrites */
            overwrites: number;
            /**
             * Overwrites Sample
             * @default []
             */
            overwrites_sample: string[];
            /** Overwritten Bytes */
            overwritten_bytes: number;
            /**
             * Sample
             * @default []
             */
            sample: string[];
            /** Skipped Special */
            skipped_special: number;
            /** Symlinks */
            symlinks: number;
        };
        /**
         * Throughput
         * @description How fast something was over time, a sample every `step_s` seconds; 0 where nothing moved or was measured.
         */
        Throughput: {
            /**
             * Samples
             * @description at most 1,000, in order
             * @default []
             */
            samples: components["schemas"]["ThroughputSample"][];
            /**
             * Step S
             * @description seconds of a sample: 1, 10, 300, 3600 or 86400
             */
            step_s: number;
        };
        /**
         * ThroughputSample
         * @description What became durable in the seconds from `at`.
         */
        ThroughputSample: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /**
             * Bytes
             * @default 0
             */
            bytes: number;
            /**
             * Files
             * @default 0
             */
            files: number;
            /**
             * Rate Bps
             * @default 0
             */
            rate_bps: number;
        };
        /**
         * Token
         * @description `secret` is present only in the answer that makes the token.
         */
        Token: {
            /** Agent */
            agent?: string | null;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Id */
            id: string;
            /** Last Used */
            last_used?: string | null;
            /**
             * Made By
             * @description the administrator who made it for a service account
             */
            made_by?: string | null;
            /** Name */
            name: string;
            /**
             * Person
             * @description as whom it acts, who made it unless `made_by` did
             */
            person?: string | null;
            /** Scopes */
            scopes: string[];
            /** Secret */
            secret?: string | null;
        };
        /**
         * TokenRequest
         * @description An API token for a pipeline or an assistant; never more than its maker's own scopes.
         */
        TokenRequest: {
            /**
             * Agent
             * @description name of the assistant that will act with it
             */
            agent?: string | null;
            /** Name */
            name: string;
            /** @description the answer to the challenge that came with `proof_needed` for this same request */
            passkey?: components["schemas"]["PasskeyAnswer"] | null;
            /**
             * Password
             * @description asked for by `proof_needed`
             */
            password?: string | null;
            /**
             * Person
             * @description id of the service account whose it shall be; only administrators say that
             */
            person?: string | null;
            /**
             * Provider
             * @description what a fresh sign-in at the provider gave for this same request
             */
            provider?: string | null;
            /** Scopes */
            scopes: string[];
            /**
             * Valid S
             * @default 2592000
             */
            valid_s: number;
        };
        /**
         * Transfer
         * @description The execution of a plan.
         */
        Transfer: {
            /** Action */
            action: string;
            /**
             * Active S
             * @description how long its attempts took, without the pauses and waits between them
             */
            active_s?: number | null;
            /** Agent */
            agent?: string | null;
            /**
             * Allowed Actions
             * @default []
             */
            allowed_actions: components["schemas"]["AllowedAction"][];
            /**
             * Attempt
             * @default 0
             */
            attempt: number;
            /**
             * Canonical Sentence
             * @default
             */
            canonical_sentence: string;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Deadline
             * @description when it is to be done, if that was asked for
             */
            deadline?: string | null;
            /**
             * Deadline At Risk
             * @description its deadline passed before it ended, or will have at its present rate
             * @default false
             */
            deadline_at_risk: boolean;
            /**
             * Deadline Late S
             * @description by how much it would come late at least, or did; null: it would not, or nobody knows
             */
            deadline_late_s?: number | null;
            /**
             * Deadline Note
             * @description why its deadline is at risk
             * @default
             */
            deadline_note: string;
            /**
             * Deadline Told
             * @description what its history says last of its deadline, which does not go up and down with a rate
             * @default
             * @enum {string}
             */
            deadline_told: "" | "at_risk" | "missed";
            /** Destination */
            destination: string;
            /** Ended */
            ended?: string | null;
            /** @description when it is expected to end; null: it has ended, is paused, or nothing says how long it takes */
            ends?: components["schemas"]["ExpectedEnd"] | null;
            error?: components["schemas"]["Problem"] | null;
            /**
             * Goes On
             * @description when it goes on by itself, while it waits for its hours or those of policy
             */
            goes_on?: string | null;
            /** @description hours in which alone it runs */
            hours?: components["schemas"]["RunHours"] | null;
            /** Id */
            id: string;
            /**
             * Names Withheld
             * @description names were left out: a folder is restricted for agents
             * @default false
             */
            names_withheld: boolean;
            /**
             * @default {
             *       "by": "nobody",
             *       "kind": "none",
             *       "message": ""
             *     }
             */
            next_step: components["schemas"]["NextStep"];
            /** Plan */
            plan: string;
            /** Plan Digest */
            plan_digest: string;
            /**
             * Plan Rate Ceiling Bps
             * @description the most its plan allows, which `set_rate` can't exceed; null: no limit, or it ended
             */
            plan_rate_ceiling_bps?: number | null;
            /**
             * Probe
             * @description it only measures, and leaves nothing at its destination
             * @default false
             */
            probe: boolean;
            /**
             * @default {
             *       "bytes_durable": 0,
             *       "bytes_failed": 0,
             *       "bytes_received": 0,
             *       "bytes_total": 0,
             *       "deleted": 0,
             *       "deleted_to_trash": false,
             *       "deletes_total": 0,
             *       "files_done": 0,
             *       "files_failed": 0,
             *       "files_failed_for_good": 0,
             *       "files_identical": 0,
             *       "files_total": 0,
             *       "limiter": "",
             *       "rate_bps": 0,
             *       "resent_bytes": 0,
             *       "sources_deleted": 0,
             *       "sources_kept": 0,
             *       "streams": 0
             *     }
             */
            progress: components["schemas"]["Progress"];
            /**
             * Project
             * @description the project that it is for, if one was named
             */
            project?: string | null;
            /**
             * Qos Class
             * @description its class, by which it gets its share of links
             * @default
             */
            qos_class: string;
            /** Rate Ceiling Bps */
            rate_ceiling_bps?: number | null;
            /** Receipt */
            receipt?: string | null;
            /** Requester */
            requester: string;
            /** Requester Name */
            requester_name?: string | null;
            /** Source */
            source: string;
            /** Started */
            started?: string | null;
            /**
             * Starts
             * @description when it is to start, if that was asked for, or when its hours open first
             */
            starts?: string | null;
            state: components["schemas"]["TransferState"];
            /**
             * State Reason
             * @default
             */
            state_reason: string;
            /**
             * Summary
             * @default
             */
            summary: string;
            /**
             * @description streams and units that are set for it, and at which level
             * @default {}
             */
            tuning: components["schemas"]["EffectiveTuning"];
            /**
             * Wish
             * @description what people want of it
             * @default run
             * @enum {string}
             */
            wish: "run" | "pause" | "cancel";
        };
        /**
         * TransferCounts
         * @description How many transfers there are, by state.
         */
        TransferCounts: {
            /** By State */
            by_state: {
                [key: string]: number;
            };
            /**
             * Exact
             * @description whether `total` is exact; from 1,000 on it says `at least`
             */
            exact: boolean;
            /** Total */
            total: number;
        };
        /**
         * TransferEvent
         * @description One entry of a transfer's history; also what `watch` streams (`kind` `progress` is not kept).
         */
        TransferEvent: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Kind */
            kind: string;
            /** Message */
            message: string;
            /** Sequence */
            sequence: number;
            transfer?: components["schemas"]["Transfer"] | null;
        };
        /**
         * TransferIntent
         * @description What somebody asked for, in typed slots; the API's form of a copy, sync or move.
         */
        TransferIntent: {
            /**
             * Action
             * @enum {string}
             */
            action: "copy" | "sync" | "move";
            /**
             * Compare
             * @description when two files count as the same
             * @default size-mtime
             * @enum {string}
             */
            compare: "size-mtime" | "checksum";
            /**
             * Deadline
             * @description when to be done
             */
            deadline?: string | null;
            /**
             * Delete Extraneous
             * @description whether a sync deletes what the source does not hold
             * @default false
             */
            delete_extraneous: boolean;
            /**
             * Destination
             * @description `endpoint:/path`; a trailing slash means 'into this folder'
             */
            destination: string;
            /**
             * Encryption
             * @description whether the bytes are encrypted on their way
             * @default true
             */
            encryption: boolean;
            /**
             * Exclude
             * @description globs of which a file must match none
             * @default []
             */
            exclude: string[];
            /**
             * Include
             * @description globs of which a file must match one; none: every file
             * @default []
             */
            include: string[];
            /**
             * Max Size Bytes
             * @description largest size, inclusive
             */
            max_size_bytes?: number | null;
            /**
             * Min Size Bytes
             * @description smallest size, inclusive
             */
            min_size_bytes?: number | null;
            /**
             * Modified After
             * @description earliest modification time, inclusive
             */
            modified_after?: string | null;
            /**
             * Modified Before
             * @description modification times from here on are left out
             */
            modified_before?: string | null;
            /**
             * On Conflict
             * @description files that differ at the destination; default: a sync overwrites them, else `fail`
             */
            on_conflict?: ("skip" | "overwrite" | "fail" | "newer") | null;
            /**
             * Preserve
             * @description what of a file's metadata is kept
             * @default [
             *       "timestamps",
             *       "permissions",
             *       "symlinks"
             *     ]
             */
            preserve: ("timestamps" | "permissions" | "symlinks" | "xattrs")[];
            /**
             * Priority
             * @description whose turn comes first
             * @default normal
             * @enum {string}
             */
            priority: "low" | "normal" | "high";
            /**
             * Project
             * @description the project that it is for: policy decides who may name which, and quotas count it
             */
            project?: string | null;
            /**
             * Rate Limit Bps
             * @description ceiling in bits per second
             */
            rate_limit_bps?: number | null;
            /**
             * Repeat
             * @description recurrence rule (RRULE)
             */
            repeat?: string | null;
            /**
             * Source
             * @description `endpoint:/path`
             */
            source: string;
            /**
             * Start
             * @description when to start
             */
            start?: string | null;
            /**
             * Verify
             * @description how what arrives is verified; default: a move at rest, else in transit
             * @default default
             * @enum {string}
             */
            verify: "default" | "in-transit" | "at-rest" | "blake3" | "sha256" | "sha1" | "md5" | "crc32c" | "none";
            /**
             * Window
             * @description hours of the day in which to run
             */
            window?: string[] | null;
        };
        /**
         * TransferShare
         * @description What a transfer gets of links.
         */
        TransferShare: {
            /**
             * Actual Bps
             * @description what it takes now
             * @default 0
             */
            actual_bps: number;
            /**
             * Ceiling Bps
             * @description that ceiling, for all transfers of the class there
             */
            ceiling_bps?: number | null;
            /**
             * Ceiling Link
             * @description where the ceiling of its class holds it back; empty: nowhere
             * @default
             */
            ceiling_link: string;
            /**
             * Entitled Bps
             * @description its share of its tightest link; null: no cap there
             */
            entitled_bps?: number | null;
            /**
             * Guaranteed Bps
             * @description that, as far as links have it left
             * @default 0
             */
            guaranteed_bps: number;
            /**
             * Kept Later
             * @description that is too little now, and enough comes before its deadline: earlier ones go first
             * @default false
             */
            kept_later: boolean;
            /**
             * Links
             * @default []
             */
            links: string[];
            /**
             * Needed Bps
             * @description what its deadline needs
             * @default 0
             */
            needed_bps: number;
            /** Qos Class */
            qos_class: string;
            /**
             * Transfer
             * @description empty for those of others
             * @default
             */
            transfer: string;
            /**
             * Weight
             * @default 1
             */
            weight: number;
        };
        /**
         * TransferState
         * @description Where a transfer stands.
         *
         *     It goes between queued (it has not begun, or it waits for its turn), running, waiting (a node is away, an operator
         *     has halted it, or it is tried again later) and paused, until it is complete, partial, failed or canceled; a retry
         *     queues a partial or failed one again.
         * @enum {string}
         */
        TransferState: "queued" | "running" | "waiting" | "paused" | "complete" | "partial" | "failed" | "canceled";
        /**
         * Tuned
         * @description A value that was set, and where.
         */
        Tuned: {
            /**
             * Level
             * @enum {string}
             */
            level: "transfer" | "pair" | "site";
            /** Value */
            value: number;
        };
        /**
         * Tuning
         * @description What is set of how a transfer uses the network and its nodes' memory, instead of what the nodes choose.
         *
         *     Null is left to the next level (the transfer, its pair of endpoints, the site), and at last to the nodes.
         */
        Tuning: {
            /**
             * Streams
             * @description data connections; null at every level: as many as help
             */
            streams?: number | null;
            /**
             * Unit Bytes
             * @description into pieces of how much large files are cut, a power of two; null at every level: 4 MiB
             */
            unit_bytes?: number | null;
        };
        /**
         * WhoMay
         * @description What policy would say to one person of one small file, nothing overwritten, without an assistant.
         */
        WhoMay: {
            /** Name */
            name: string;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "allowed" | "confirm" | "approve" | "denied";
            /** Person */
            person: string;
            /**
             * Rules
             * @default []
             */
            rules: components["schemas"]["Rule"][];
        };
        /**
         * WhoMayRequest
         * @description Who may do this? For `browse` a source alone; otherwise an end that is left out stands for any endpoint.
         */
        WhoMayRequest: {
            /**
             * Action
             * @default copy
             * @enum {string}
             */
            action: "browse" | "copy" | "sync" | "move";
            /** Destination */
            destination?: string | null;
            /** Source */
            source?: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AcceptInvitation = components['schemas']['AcceptInvitation'];
export type AllowedAction = components['schemas']['AllowedAction'];
export type Alternative = components['schemas']['Alternative'];
export type Approval = components['schemas']['Approval'];
export type ApprovalView = components['schemas']['ApprovalView'];
export type AskedValue = components['schemas']['AskedValue'];
export type AuditEvent = components['schemas']['AuditEvent'];
export type AuditVerdict = components['schemas']['AuditVerdict'];
export type Changes = components['schemas']['Changes'];
export type Choice = components['schemas']['Choice'];
export type Confirmation = components['schemas']['Confirmation'];
export type ControlRequest = components['schemas']['ControlRequest'];
export type DecidingFact = components['schemas']['DecidingFact'];
export type Decision = components['schemas']['Decision'];
export type Descriptors = components['schemas']['Descriptors'];
export type DeviceAnswer = components['schemas']['DeviceAnswer'];
export type DeviceQuestion = components['schemas']['DeviceQuestion'];
export type DeviceSignIn = components['schemas']['DeviceSignIn'];
export type Diagnosis = components['schemas']['Diagnosis'];
export type EffectiveTuning = components['schemas']['EffectiveTuning'];
export type Endpoint = components['schemas']['Endpoint'];
export type EndpointUpdate = components['schemas']['EndpointUpdate'];
export type Entry = components['schemas']['Entry'];
export type Estimate = components['schemas']['Estimate'];
export type Evidence = components['schemas']['Evidence'];
export type ExpectedEnd = components['schemas']['ExpectedEnd'];
export type FailedFile = components['schemas']['FailedFile'];
export type Flow = components['schemas']['Flow'];
export type FolderPage = components['schemas']['FolderPage'];
export type Given = components['schemas']['Given'];
export type GroupBinding = components['schemas']['GroupBinding'];
export type GroupBindings = components['schemas']['GroupBindings'];
export type GroupBindingsRequest = components['schemas']['GroupBindingsRequest'];
export type GroupProposal = components['schemas']['GroupProposal'];
export type GuidedRequest = components['schemas']['GuidedRequest'];
export type GuidedRules = components['schemas']['GuidedRules'];
export type Halt = components['schemas']['Halt'];
export type HaltRequest = components['schemas']['HaltRequest'];
export type Health = components['schemas']['Health'];
export type HealthCause = components['schemas']['HealthCause'];
export type HealthCode = components['schemas']['HealthCode'];
export type HostInterface = components['schemas']['HostInterface'];
export type HostRoot = components['schemas']['HostRoot'];
export type Identity = components['schemas']['Identity'];
export type IdentityLink = components['schemas']['IdentityLink'];
export type InterpretRequest = components['schemas']['InterpretRequest'];
export type Interpretation = components['schemas']['Interpretation'];
export type Invitation = components['schemas']['Invitation'];
export type InvitationLook = components['schemas']['InvitationLook'];
export type InvitationRequest = components['schemas']['InvitationRequest'];
export type Invited = components['schemas']['Invited'];
export type IssuerHere = components['schemas']['IssuerHere'];
export type JoinToken = components['schemas']['JoinToken'];
export type JoinTokenRequest = components['schemas']['JoinTokenRequest'];
export type KeptReason = components['schemas']['KeptReason'];
export type KeptSources = components['schemas']['KeptSources'];
export type Limit = components['schemas']['Limit'];
export type Loss = components['schemas']['Loss'];
export type LossPage = components['schemas']['LossPage'];
export type Me = components['schemas']['Me'];
export type Measured = components['schemas']['Measured'];
export type MeasuredSide = components['schemas']['MeasuredSide'];
export type Need = components['schemas']['Need'];
export type NextStep = components['schemas']['NextStep'];
export type Node = components['schemas']['Node'];
export type NodeHost = components['schemas']['NodeHost'];
export type OpenSession = components['schemas']['OpenSession'];
export type PageAuditEvent = components['schemas']['Page_AuditEvent_'];
export type PageEndpoint = components['schemas']['Page_Endpoint_'];
export type PageFailedFile = components['schemas']['Page_FailedFile_'];
export type PageHalt = components['schemas']['Page_Halt_'];
export type PageNode = components['schemas']['Page_Node_'];
export type PageOpenSession = components['schemas']['Page_OpenSession_'];
export type PagePasskey = components['schemas']['Page_Passkey_'];
export type PagePerson = components['schemas']['Page_Person_'];
export type PagePlan = components['schemas']['Page_Plan_'];
export type PagePolicyNeed = components['schemas']['Page_PolicyNeed_'];
export type PagePolicyVersion = components['schemas']['Page_PolicyVersion_'];
export type PageQosVersion = components['schemas']['Page_QosVersion_'];
export type PageQuotaUse = components['schemas']['Page_QuotaUse_'];
export type PageToken = components['schemas']['Page_Token_'];
export type PageTransferEvent = components['schemas']['Page_TransferEvent_'];
export type PageTransfer = components['schemas']['Page_Transfer_'];
export type PageWhoMay = components['schemas']['Page_WhoMay_'];
export type Passkey = components['schemas']['Passkey'];
export type PasskeyAnswer = components['schemas']['PasskeyAnswer'];
export type PasskeyChallenge = components['schemas']['PasskeyChallenge'];
export type PasskeyRequest = components['schemas']['PasskeyRequest'];
export type PasswordChange = components['schemas']['PasswordChange'];
export type Person = components['schemas']['Person'];
export type PersonUpdate = components['schemas']['PersonUpdate'];
export type Plan = components['schemas']['Plan'];
export type PlanCounts = components['schemas']['PlanCounts'];
export type PlanRequest = components['schemas']['PlanRequest'];
export type PlanState = components['schemas']['PlanState'];
export type PlannedIntent = components['schemas']['PlannedIntent'];
export type PlannedQuality = components['schemas']['PlannedQuality'];
export type PolicyCheck = components['schemas']['PolicyCheck'];
export type PolicyExample = components['schemas']['PolicyExample'];
export type PolicyFlip = components['schemas']['PolicyFlip'];
export type PolicyNeed = components['schemas']['PolicyNeed'];
export type PolicyProblem = components['schemas']['PolicyProblem'];
export type PolicySimulation = components['schemas']['PolicySimulation'];
export type PolicySuggestion = components['schemas']['PolicySuggestion'];
export type PolicyText = components['schemas']['PolicyText'];
export type PolicyVersion = components['schemas']['PolicyVersion'];
export type ProbeBounds = components['schemas']['ProbeBounds'];
export type ProbeLeg = components['schemas']['ProbeLeg'];
export type Probed = components['schemas']['Probed'];
export type Problem = components['schemas']['Problem'];
export type Progress = components['schemas']['Progress'];
export type ProofWanted = components['schemas']['ProofWanted'];
export type Proven = components['schemas']['Proven'];
export type Provider = components['schemas']['Provider'];
export type ProviderChallenge = components['schemas']['ProviderChallenge'];
export type Qos = components['schemas']['Qos'];
export type QosCalendar = components['schemas']['QosCalendar'];
export type QosCheck = components['schemas']['QosCheck'];
export type QosClass = components['schemas']['QosClass'];
export type QosClassLink = components['schemas']['QosClassLink'];
export type QosDocument = components['schemas']['QosDocument'];
export type QosHours = components['schemas']['QosHours'];
export type QosLink = components['schemas']['QosLink'];
export type QosLinkUse = components['schemas']['QosLinkUse'];
export type QosPair = components['schemas']['QosPair'];
export type QosProblem = components['schemas']['QosProblem'];
export type QosText = components['schemas']['QosText'];
export type QosVersion = components['schemas']['QosVersion'];
export type Question = components['schemas']['Question'];
export type QuotaUse = components['schemas']['QuotaUse'];
export type Quote = components['schemas']['Quote'];
export type Receipt = components['schemas']['Receipt'];
export type Refusal = components['schemas']['Refusal'];
export type RightsChange = components['schemas']['RightsChange'];
export type RotationRequest = components['schemas']['RotationRequest'];
export type Rule = components['schemas']['Rule'];
export type RunHours = components['schemas']['RunHours'];
export type ServiceAccountRequest = components['schemas']['ServiceAccountRequest'];
export type Session = components['schemas']['Session'];
export type SignIn = components['schemas']['SignIn'];
export type SignInWays = components['schemas']['SignInWays'];
export type SignedOut = components['schemas']['SignedOut'];
export type SlotOrigin = components['schemas']['SlotOrigin'];
export type Span = components['schemas']['Span'];
export type Stage = components['schemas']['Stage'];
export type SubmitRequest = components['schemas']['SubmitRequest'];
export type SurveyCounts = components['schemas']['SurveyCounts'];
export type Throughput = components['schemas']['Throughput'];
export type ThroughputSample = components['schemas']['ThroughputSample'];
export type Token = components['schemas']['Token'];
export type TokenRequest = components['schemas']['TokenRequest'];
export type Transfer = components['schemas']['Transfer'];
export type TransferCounts = components['schemas']['TransferCounts'];
export type TransferEvent = components['schemas']['TransferEvent'];
export type TransferIntent = components['schemas']['TransferIntent'];
export type TransferShare = components['schemas']['TransferShare'];
export type TransferState = components['schemas']['TransferState'];
export type Tuned = components['schemas']['Tuned'];
export type Tuning = components['schemas']['Tuning'];
export type WhoMay = components['schemas']['WhoMay'];
export type WhoMayRequest = components['schemas']['WhoMayRequest'];
export type $defs = Record<string, never>;
export interface operations {
    audit: {
        parameters: {
            query?: {
                /** @description `next` of the page before */
                after?: string | null;
                limit?: number;
                order?: "oldest" | "newest";
                kind?: string | null;
                /** @description several, with commas between */
                kinds?: string;
                person?: string | null;
                subject?: string | null;
                since?: string | null;
                until?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_AuditEvent_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verify_audit: {
        parameters: {
            query?: {
                full?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditVerdict"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    endpoints: {
        parameters: {
            query?: {
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
                /** @description only those with this text in an id, an alias, the root or the node's name */
                q?: string;
                /** @description only those with this label: `name=value`, or a name */
                label?: string;
                /** @description only those of this node (id, name or key) */
                node?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Endpoint_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    update_endpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndpointUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    browse: {
        parameters: {
            query?: {
                path?: string;
                after?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FolderPage"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_endpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changes: {
        parameters: {
            query?: {
                /** @description begin after this number; else with what happens now */
                after?: number | null;
            };
            header?: {
                "last-event-id"?: number | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    group_bindings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupBindings"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    propose_group_bindings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupBindingsRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupBindings"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publish_group_bindings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                proposal: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupBindings"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    interpret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InterpretRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Interpretation"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    accept_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptInvitation"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    look_at_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationLook"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invited"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    nodes: {
        parameters: {
            query?: {
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Node_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_join_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinTokenRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinToken"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    drain_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    node_host: {
        parameters: {
            query?: {
                to?: string | null;
            };
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeHost"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotate_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotationRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinToken"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    node_throughput: {
        parameters: {
            query?: {
                direction?: "sent" | "received";
                /** @description where the range begins */
                since?: string | null;
                /** @description where it ends; no later than now */
                until?: string | null;
            };
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Throughput"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    undrain_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    passkeys: {
        parameters: {
            query?: {
                /** @description of whom; only administrators say that */
                person?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Passkey_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyChallenge"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    use_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                passkey: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    people: {
        parameters: {
            query?: {
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Person_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    invite: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_service_account: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ServiceAccountRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    update_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PersonUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    disable_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enable_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    link_identity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdentityLink"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unlink_identity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdentityLink"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Person"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    invite_again: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_passkey_of: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
                passkey: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_session_of: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                person: string;
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plans: {
        parameters: {
            query?: {
                state?: components["schemas"]["PlanState"] | null;
                /** @description several, with commas between */
                states?: string;
                awaiting_me?: boolean;
                /** @description only those from or to this endpoint (id or alias) */
                endpoint?: string;
                /** @description only those from or to an endpoint with this label: `name=value`, or a name */
                label?: string;
                /** @description only those of this person (id or name) */
                person?: string;
                /** @description only those that this assistant planned */
                agent?: string;
                /** @description only those for this project */
                project?: string;
                /** @description words, each in an id, the words or the sentence */
                search?: string;
                /** @description only what was made then or later */
                since?: string | null;
                /** @description only what was made before */
                until?: string | null;
                order?: "oldest" | "newest";
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Plan_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_plan: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_counts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanCounts"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan: {
        parameters: {
            query?: {
                /** @description wait at most so many seconds for it to settle */
                wait_s?: number;
                document?: boolean;
            };
            header?: never;
            path: {
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    approve_plan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Approval"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    confirm_plan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Confirmation"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    drop_plan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    losses: {
        parameters: {
            query?: {
                how?: ("replaced" | "deleted") | null;
                /** @description `next` of the page before */
                after?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LossPage"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    why: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Decision"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    policies: {
        parameters: {
            query?: {
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_PolicyVersion_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    propose_policy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyText"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyVersion"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    check_policy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyText"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyCheck"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    guided_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GuidedRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GuidedRules"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    policy_needs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_PolicyNeed_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    simulate_policy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyText"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicySimulation"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    who_may: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhoMayRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_WhoMay_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publish_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyVersion"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    withdraw_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyVersion"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    qos: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Qos"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    check_qos: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QosText"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QosCheck"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    qos_versions: {
        parameters: {
            query?: {
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_QosVersion_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    propose_qos: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QosText"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QosVersion"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publish_qos: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Proven"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QosVersion"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    withdraw_qos: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QosVersion"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    quotas: {
        parameters: {
            query?: {
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_QuotaUse_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    receipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                receipt: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    receipt_files: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                receipt: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sessions: {
        parameters: {
            query?: {
                /** @description of whom; only administrators say that */
                person?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_OpenSession_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedOut"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in_by_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyAnswer"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ask_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyChallenge"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ways_to_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInWays"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_sign_in: {
        parameters: {
            query?: {
                /** @description the path of this service where it goes on */
                next?: string;
                /** @description `kept` of the proof that is asked for */
                proof?: string | null;
            };
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    back_channel_logout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    finish_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_device_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceSignIn"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ask_device_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceQuestion"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceAnswer"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    halt: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HaltRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Halt"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    release_halt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                halt: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    halts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Halt_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tokens: {
        parameters: {
            query?: {
                everybody?: boolean;
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Token_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    transfers: {
        parameters: {
            query?: {
                state?: components["schemas"]["TransferState"] | null;
                /** @description several, with commas between */
                states?: string;
                /** @description only those from or to this endpoint (id or alias) */
                endpoint?: string;
                /** @description only those from or to an endpoint with this label: `name=value`, or a name */
                label?: string;
                /** @description only those of this person (id or name) */
                person?: string;
                /** @description only those that this assistant planned */
                agent?: string;
                /** @description only those for this project */
                project?: string;
                /** @description words, each part of an id, a place or the requester's name */
                search?: string;
                /** @description only what was made then or later */
                since?: string | null;
                /** @description only what was made before */
                until?: string | null;
                order?: "oldest" | "newest";
                limit?: number;
                /** @description `next` of the page before */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Transfer_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubmitRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transfer"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    transfer_counts: {
        parameters: {
            query?: {
                /** @description only those from or to this endpoint (id or alias) */
                endpoint?: string;
                /** @description only those from or to an endpoint with this label: `name=value`, or a name */
                label?: string;
                /** @description only those of this person (id or name) */
                person?: string;
                /** @description only those that this assistant planned */
                agent?: string;
                /** @description only those for this project */
                project?: string;
                /** @description words, each part of an id, a place or the requester's name */
                search?: string;
                /** @description only what was made then or later */
                since?: string | null;
                /** @description only what was made before */
                until?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransferCounts"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    transfer: {
        parameters: {
            query?: {
                /** @description wait at most so many seconds for it to settle */
                wait_s?: number;
            };
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transfer"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    control: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ControlRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transfer"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    diagnose: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diagnosis"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    transfer_events: {
        parameters: {
            query?: {
                /** @description `next` of the page before */
                after?: string | null;
                limit?: number;
                order?: "oldest" | "newest";
            };
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_TransferEvent_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    failed_files: {
        parameters: {
            query?: {
                /** @description `next` of the page before */
                after?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_FailedFile_"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    measured: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Measured"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    probed: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Probed"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    throughput: {
        parameters: {
            query?: {
                /** @description where the range begins */
                since?: string | null;
                /** @description where it ends; no later than now */
                until?: string | null;
            };
            header?: never;
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Throughput"];
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watch: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: number;
            };
            path: {
                transfer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description What went wrong, where, and what to do (docs/errors.md lists the codes) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
