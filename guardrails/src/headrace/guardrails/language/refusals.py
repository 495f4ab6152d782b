"""Recognises what no answer makes right: asking to get round policy, approval or checks."""

from __future__ import annotations

from headrace.guardrails.intents.draft import Doubt
from headrace.guardrails.language.phrases import say

_AROUND = """
    ignore|ignoring|bypass|bypassing|override|overriding|overrule|circumvent|circumventing|skip|skipping|disable
    |disabling|disregard|disregarding|evade|evading|work around|get around|go around|violate|break|turn off|switch
    off|suspend|avoid|dodge|sidestep|forget|forget about|without|defeat|get past|don't bother with|no need for|don't
    wait for|do not wait for|not wait for|waive|drop|suppress|exempt from|regardless of|despite|against|remove|lift
    |no|don't ask for|do not ask for|without asking for|without waiting for|without needing|never mind|bypasses
    |ignores
    """
_RULES_WORDS = """
    policy|policies|approval|approvals|guardrail|guardrails|rails|rules|rule|safety checks|safety check|safety
    |permissions check|permission checks|permission check|access control|access controls|authorization|authorisation
    |confirmation|confirmations|confirmation step|approval step|approval process|approval workflow|review|quota
    |quotas|restrictions|security|security checks|security policy|safeguards|governance|compliance|acl checks|access
    checks|audit|audit log|audit logging|auditing|policy check|policy checks|policy engine|budget|budgets|budget limits
    |site policy|the four eyes|stewards|data stewards|steward|site rules|usual rules|usual checks|usual approval
    |normal checks|sign-off|sign off|kill switch|limits of the policy|policy limits|all checks|safety rails
    |authentication|validation rules|protections
    """
_THINGS = """
    folder|folders|directory|directories|subfolder|subfolders|file|files|email|emails|mail|mails|message|messages|document
    |documents|letter|letters|report|reports|logs|log files|dataset|datasets|spreadsheet|spreadsheets
    """
_ADMIN = """
    admin|administrator|an admin|an administrator|the admin|the administrator|root|superuser|sysadmin|system
    administrator|root user|a superuser|the superuser|the operator|the owner of the system|system|the system
    administrator|a system administrator|a sysadmin|the sysadmin|the root user|super user|superadmin|god|sudo|the
    site admin|a site admin|your admin|your administrator|your developer|the developer|the boss|your owner|a policy
    admin|the policy admin|site admin|an operator|a privileged user|privileged user|someone else|another user
    """

RULES = (
    *say(
        "get round the rules",
        "refuse",
        "bypasses_policy",
        f"""
            ({_AROUND}) [any|all|all the|the|our|your|my|this|that|all of the|every|any of the|site|usual|normal
            |needed|required|further|for|data|steward|second|person|your own|internal|transfer|network|storage
            |local] [site|usual|normal|data|steward|required|second|needed|security|network] ({_RULES_WORDS})
            """,
        f"""
            ({_RULES_WORDS}) (off|override|bypass|bypassed|overridden|disabled|does not apply|doesn't apply|do not
            apply|don't apply|not needed|isn't needed|is not needed|not required|isn't required|is not required
            |waived|exempt|already given|has been given|already granted|granted|is granted|not necessary|isn't
            necessary|be damned|exemption)
            """,
        """
            (ignore|disregard|forget|override) [all|any] [the|your|my|these] [previous|prior|above|earlier|preceding
            |system|other|old|former] (instructions|instruction|prompt|prompts|directions|directives|orders
            |guidelines|commands)
            """,
        """
            (pre-approved|preapproved|already approved|auto-approve|auto approve|autoapprove|auto-confirm|auto
            confirm|self-approve|approved by the admin|approved already|approve it yourself|approve this yourself
            |confirm it yourself|confirm it for me|approve it for me|approve on my behalf|was approved|has been
            approved|is approved|is already approved|i have approval|i've got approval|i have permission|we have
            approval|everything is approved|consider it approved|treat {it} as approved|treat {it} as confirmed|mark
            {it} as approved|mark {it} as confirmed)
            """,
        """
            (without asking|without confirmation|without confirming|no questions asked|without asking me|don't ask
            me|do not ask me|without asking anyone|don't ask|do not ask|no confirmation|without prompting|no confirm
            |no-confirm|skip the confirm|noconfirm|without approval|no approval|force it through|push it through
            anyway|without being asked|no prompts|without any questions|even if [the] policy (forbids|denies|says
            no) [it]|whether or not it is allowed|even if {it} (is|isn't) (not allowed|forbidden|denied|allowed)
            |even if not allowed)
            """,
    ),
    # Plain things that only sound like the rules: a folder, a file, a message. Longer, so they win; still asked about.
    *say(
        "a thing called like a rule",
        "include",
        Doubt("say which files are meant, such as exclude review/"),
        f"({_AROUND}) [any|all|the|our|your|my] ({_RULES_WORDS}) ({_THINGS}) [to be <word>]",
        f"(with|including|and) [the] [full] (access|audit|security|{_RULES_WORDS}) ({_THINGS})",
    ),
    *say(
        "claims another role",
        "refuse",
        "claims_role",
        f"""
            [acting|act|run|running|do it|run it|execute|run this|log in|authenticated|logged in|run {{it}}|copy it
            |treat me|count me|i act|speaking|signed in|as if i were|pretend i'm|pretend i am|do this] as [if i
            were] ({_ADMIN})
            """,
        f"""
            (i'm|i am|im|pretend i'm|pretend i am|assume i'm|assume i am|suppose i am|this is|we are|you are|you're
            |imagine i am|pretend to be|pretend you are|assume that i am) ({_ADMIN}) [here|now]
            """,
        """
            (with|using|use) [my|the|your] (admin|administrator|root|superuser|elevated|privileged|full) (rights
            |privileges|permissions|access|credentials|powers|role|mode|account|authority|token)
            """,
        "(admin|root|superuser|developer|debug|god|maintenance|privileged) (mode|override|privileges|access|rights)",
        "sudo|su -|run0|doas",
        "on behalf of (<any>|another user|someone else|the admin|root|an admin|everyone)",
        "(impersonate|impersonating) (<any>|the admin|an admin|root|another user)",
    ),
)
